SELECT max(staged) FROM blob_blocks WHERE container = ? AND name = ?
