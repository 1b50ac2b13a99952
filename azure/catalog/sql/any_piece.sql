SELECT 1 FROM blob_pieces WHERE manifest = ? AND start < ? LIMIT 1
