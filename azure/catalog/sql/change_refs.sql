UPDATE blob_chunks SET refs = refs + change.n
FROM (SELECT value ->> 0 AS chunk, value ->> 1 AS n FROM json_each(?)) AS change WHERE id = change.chunk
