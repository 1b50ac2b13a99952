SELECT max(snapshot) FROM blob_items WHERE container = ? AND name = ? AND snapshot < ?
