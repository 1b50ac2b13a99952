WITH asked AS MATERIALIZED (SELECT value AS id FROM json_each(?))
SELECT id FROM blob_chunks WHERE id IN (SELECT id FROM asked)
UNION SELECT chunk FROM blob_pieces WHERE chunk IN (SELECT id FROM asked)
UNION SELECT chunk FROM blob_blocks WHERE chunk IN (SELECT id FROM asked)
