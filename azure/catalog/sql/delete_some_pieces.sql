DELETE FROM blob_pieces WHERE manifest = ?1 AND start IN
  (SELECT start FROM blob_pieces WHERE manifest = ?1 ORDER BY start LIMIT ?2 + 0)
