UPDATE blob_chunks SET refs = refs - gone.n
FROM (
  SELECT chunk, count(*) AS n FROM (SELECT chunk FROM blob_pieces WHERE manifest = ? ORDER BY start LIMIT ? + 0) GROUP BY chunk
) AS gone
WHERE id = gone.chunk
