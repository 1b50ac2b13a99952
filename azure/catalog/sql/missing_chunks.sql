SELECT chunk, count(*), '' FROM (SELECT chunk FROM blob_pieces UNION ALL SELECT chunk FROM blob_blocks)
WHERE chunk NOT IN (SELECT id FROM blob_chunks) GROUP BY chunk
