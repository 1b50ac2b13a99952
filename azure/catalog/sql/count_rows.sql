SELECT
  (SELECT count(*) FROM blob_containers WHERE NOT deleting),
  (SELECT count(*) FROM blob_items WHERE committed AND snapshot = ?1),
  (SELECT count(*) FROM blob_items WHERE snapshot < ?1),
  (SELECT count(*) FROM blob_blocks),
  (SELECT count(*) FROM blob_chunks),
  (SELECT coalesce(sum(size), 0) FROM blob_chunks)
