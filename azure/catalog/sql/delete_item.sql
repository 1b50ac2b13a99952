DELETE FROM blob_items WHERE container = ? AND name = ? AND snapshot = ?
