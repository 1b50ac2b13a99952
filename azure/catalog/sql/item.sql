-- The columns are those of scanItem, in its order.
SELECT name, snapshot, kind, committed, ticks, created, size, manifest, expires, details,
  EXISTS (SELECT 1 FROM blob_blocks WHERE container = ?1 AND name = ?2)
FROM blob_items WHERE container = ?1 AND name = ?2 AND snapshot = ?3
