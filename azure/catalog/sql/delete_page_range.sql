DELETE FROM blob_pieces WHERE manifest = ? AND start >= ? AND start < ?
