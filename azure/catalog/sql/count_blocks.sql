SELECT count(*) FROM blob_blocks WHERE container = ? AND name = ?
