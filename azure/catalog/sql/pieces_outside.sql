SELECT 1 WHERE EXISTS (SELECT 1 FROM blob_pieces WHERE manifest = ?1 AND start < ?2)
  OR EXISTS (SELECT 1 FROM blob_pieces WHERE manifest = ?1 AND start >= ?3)
