SELECT start, size, chunk, at FROM blob_pieces WHERE manifest = ? AND start < ? ORDER BY start DESC LIMIT 1
