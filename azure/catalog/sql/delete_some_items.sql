DELETE FROM blob_items WHERE (container, name, snapshot) IN
  (SELECT container, name, snapshot FROM blob_items WHERE container = ? ORDER BY container, name, snapshot LIMIT ? + 0)
