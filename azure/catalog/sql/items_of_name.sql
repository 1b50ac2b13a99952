-- The columns are those of scanItem, in its order.
SELECT name, snapshot, kind, committed, ticks, created, size, manifest, expires, details
FROM blob_items WHERE container = ? AND name = ? ORDER BY snapshot
