-- The columns are those of scanItem, in its order.
-- No limit: the reader stops it.
SELECT name, snapshot, kind, committed, ticks, created, size, manifest, expires, details
FROM blob_items
WHERE container = ? AND (name, snapshot) > (?, ?) AND name < ? AND (committed OR ?)
ORDER BY name, snapshot
