INSERT INTO blob_pieces (manifest, start, size, chunk, at, block)
SELECT ?, start, size, chunk, at, iif(?, NULL, block) FROM blob_pieces WHERE manifest = ? AND start < ?
