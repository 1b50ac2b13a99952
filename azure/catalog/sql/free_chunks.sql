SELECT id FROM blob_chunks WHERE refs <= 0 ORDER BY id LIMIT ? + 0
