UPDATE blob_pieces SET size = ? WHERE manifest = ? AND start = ?
