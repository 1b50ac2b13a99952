SELECT p.start, p.size, p.at, coalesce(c.size, p.at + p.size) FROM blob_pieces p LEFT JOIN blob_chunks c ON c.id = p.chunk
WHERE p.manifest = ? ORDER BY p.start
