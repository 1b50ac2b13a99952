UPDATE blob_chunks SET refs = refs + more.n
FROM (SELECT chunk, count(*) AS n FROM blob_pieces WHERE manifest = ? GROUP BY chunk) AS more
WHERE id = more.chunk
