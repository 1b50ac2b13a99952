INSERT INTO blob_pieces (manifest, start, size, chunk, at, block) VALUES (?, ?, ?, ?, ?, ?)
