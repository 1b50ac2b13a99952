INSERT OR REPLACE INTO blob_blocks (container, name, block, size, chunk, staged) VALUES (?, ?, ?, ?, ?, ?)
