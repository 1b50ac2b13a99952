INSERT OR IGNORE INTO blob_dropped (manifest, container, name) SELECT manifest, container, name FROM blob_items
WHERE container = ? AND name = ? AND expires <= ? AND manifest <> 0
