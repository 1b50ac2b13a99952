-- Counts again what was counted as unused and is in use after all.
UPDATE blob_chunks SET refs = (SELECT count(*) FROM blob_pieces WHERE chunk = blob_chunks.id)
  + (SELECT count(*) FROM blob_blocks WHERE chunk = blob_chunks.id)
WHERE id IN (SELECT value FROM json_each(?)) AND refs <= 0
  AND (EXISTS (SELECT 1 FROM blob_pieces WHERE chunk = blob_chunks.id)
    OR EXISTS (SELECT 1 FROM blob_blocks WHERE chunk = blob_chunks.id))
