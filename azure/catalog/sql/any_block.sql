SELECT block FROM blob_blocks WHERE container = ? AND name = ? LIMIT 1
