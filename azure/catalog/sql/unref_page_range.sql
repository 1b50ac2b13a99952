UPDATE blob_chunks SET refs = refs - gone.n
FROM (SELECT chunk, count(*) AS n FROM blob_pieces WHERE manifest = ? AND start >= ? AND start < ? GROUP BY chunk) AS gone
WHERE id = gone.chunk
