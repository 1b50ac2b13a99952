SELECT key, value FROM blob_tags WHERE container = ? AND name = ?
