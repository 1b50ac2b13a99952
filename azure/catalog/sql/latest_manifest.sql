SELECT manifest FROM blob_items WHERE container = ? AND name = ? AND snapshot < ? ORDER BY snapshot DESC LIMIT 1
