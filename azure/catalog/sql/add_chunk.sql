INSERT INTO blob_chunks (id, size, crc, refs, data) VALUES (?, ?, ?, ?, ?)
