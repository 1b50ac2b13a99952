SELECT DISTINCT container, 0, name FROM blob_items WHERE (container, name) > (?, ?)
ORDER BY container, name LIMIT ? + 0
