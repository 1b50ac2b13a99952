DELETE FROM blob_dropped WHERE manifest = ?1 AND NOT EXISTS (SELECT 1 FROM blob_pieces WHERE manifest = ?1)
