SELECT id, size, crc, data FROM blob_chunks WHERE id > ? AND refs > 0 ORDER BY id LIMIT ? + 0
