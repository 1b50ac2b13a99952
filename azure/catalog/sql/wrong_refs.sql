SELECT c.id, c.refs, coalesce(real.n, 0)
FROM blob_chunks c LEFT JOIN (
  SELECT chunk, count(*) AS n FROM (SELECT chunk FROM blob_pieces UNION ALL SELECT chunk FROM blob_blocks) GROUP BY chunk
) AS real ON real.chunk = c.id
WHERE c.refs <> coalesce(real.n, 0)
