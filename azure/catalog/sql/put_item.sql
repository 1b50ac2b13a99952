INSERT OR REPLACE INTO blob_items (container, name, snapshot, kind, committed, ticks, created, size, manifest, expires, details)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
