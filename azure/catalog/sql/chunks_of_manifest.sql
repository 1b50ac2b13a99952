SELECT p.chunk, min(p.start), count(*), c.size, c.refs FROM blob_pieces p JOIN blob_chunks c ON c.id = p.chunk
WHERE p.manifest = ? GROUP BY p.chunk
