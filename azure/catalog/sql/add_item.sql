INSERT OR IGNORE INTO blob_items (container, name, snapshot, kind, committed, ticks, created, size, manifest, details)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
