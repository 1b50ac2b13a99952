DELETE FROM blob_pieces WHERE manifest IN (SELECT value FROM json_each(?))
