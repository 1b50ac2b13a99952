DELETE FROM blob_blocks WHERE container = ? AND name = ?
