-- The columns are those of scanItem, in its order.
-- CROSS JOIN makes SQLite walk the index of tags container by container, and in no
-- other order.
SELECT i.name, i.snapshot, i.kind, i.committed, i.ticks, i.created, i.size, i.manifest, i.expires, i.details, c.name, t.value
FROM blob_containers c CROSS JOIN blob_tags t CROSS JOIN blob_items i
WHERE c.account = ? AND c.name >= ? AND c.name <= ? AND NOT c.deleting
  AND t.container = c.id AND t.key = ? AND (t.value, t.name) > (?, ?) AND t.value < ?
  AND i.container = c.id AND i.name = t.name AND i.snapshot = 9223372036854775807
ORDER BY c.name, t.value, t.name
