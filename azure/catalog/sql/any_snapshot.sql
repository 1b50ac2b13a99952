SELECT 1 FROM blob_items WHERE container = ? AND name = ? AND snapshot < ? LIMIT 1
