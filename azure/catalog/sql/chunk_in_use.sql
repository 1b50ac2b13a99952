SELECT 1 FROM blob_chunks WHERE id = ? AND refs > 0
