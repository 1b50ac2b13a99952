UPDATE blob_chunks SET refs = refs - 1
WHERE id = (SELECT chunk FROM blob_blocks WHERE container = ? AND name = ? AND block = ?)
