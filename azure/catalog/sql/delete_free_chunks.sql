DELETE FROM blob_chunks WHERE id IN (SELECT value FROM json_each(?)) AND refs <= 0
