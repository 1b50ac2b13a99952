SELECT start, size, chunk, at, block FROM blob_pieces WHERE manifest = ? AND block IS NOT NULL ORDER BY start
