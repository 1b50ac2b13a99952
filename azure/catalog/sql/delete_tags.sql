DELETE FROM blob_tags WHERE container = ? AND name = ?
