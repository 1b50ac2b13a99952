INSERT INTO blob_pieces (manifest, start, size, chunk, at, block)
SELECT ?, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM json_each(?)
