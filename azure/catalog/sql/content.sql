SELECT p.start, p.size, p.chunk, p.at, c.size, c.crc, c.data
FROM blob_pieces p JOIN blob_chunks c ON c.id = p.chunk
WHERE p.manifest = ?1 AND p.start < ?3
  AND p.start >= coalesce((SELECT max(start) FROM blob_pieces WHERE manifest = ?1 AND start <= ?2), ?2)
ORDER BY p.start LIMIT ?4 + 0
