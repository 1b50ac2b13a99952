-- A container that failed to be deleted may have left rows that carry its number.
SELECT
  (SELECT coalesce(max(id), 0) FROM blob_chunks),
  max((SELECT coalesce(max(manifest), 0) FROM blob_pieces), (SELECT coalesce(max(manifest), 0) FROM blob_dropped)),
  max((SELECT coalesce(max(id), 0) FROM blob_containers), (SELECT coalesce(max(container), 0) FROM blob_items),
    (SELECT coalesce(max(container), 0) FROM blob_blocks))
