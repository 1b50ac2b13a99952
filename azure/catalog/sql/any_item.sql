SELECT 1 FROM blob_items WHERE container = ? LIMIT 1
