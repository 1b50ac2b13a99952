UPDATE blob_chunks SET refs = refs - gone.n
FROM (SELECT chunk, count(*) AS n FROM blob_pieces WHERE manifest IN (SELECT value FROM json_each(?)) GROUP BY chunk) AS gone
WHERE id = gone.chunk
