UPDATE blob_chunks SET refs = refs - gone.n
FROM (SELECT chunk, count(*) AS n FROM blob_blocks WHERE container = ? AND name = ? GROUP BY chunk) AS gone
WHERE id = gone.chunk
