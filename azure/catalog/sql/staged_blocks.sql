SELECT size, chunk, block FROM blob_blocks WHERE container = ? AND name = ? ORDER BY staged, block
