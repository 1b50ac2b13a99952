DELETE FROM blob_dropped WHERE manifest IN (SELECT value FROM json_each(?))
