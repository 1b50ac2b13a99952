SELECT start, min(size, ?3 - start), chunk, at FROM blob_pieces
WHERE manifest = ?1 AND start < ?3
  AND start >= coalesce((SELECT max(start) FROM blob_pieces WHERE manifest = ?1 AND start <= ?2), ?2)
ORDER BY start
