WITH
  wrong AS MATERIALIZED (SELECT value AS id FROM json_each(?)),
  real AS MATERIALIZED (
    SELECT chunk, count(*) AS n FROM (SELECT chunk FROM blob_pieces UNION ALL SELECT chunk FROM blob_blocks)
    WHERE chunk IN (SELECT id FROM wrong) GROUP BY chunk
  )
UPDATE blob_chunks SET refs = coalesce((SELECT n FROM real WHERE chunk = blob_chunks.id), 0)
WHERE id IN (SELECT id FROM wrong)
