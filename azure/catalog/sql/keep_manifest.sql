DELETE FROM blob_dropped WHERE manifest = ?1
  AND EXISTS (SELECT 1 FROM blob_items WHERE container = ?2 AND name = ?3 AND manifest = ?1)
