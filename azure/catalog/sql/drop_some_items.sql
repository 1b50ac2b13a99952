INSERT OR IGNORE INTO blob_dropped (manifest, container, name) SELECT manifest, container, name FROM blob_items
WHERE container = ? AND manifest <> 0 ORDER BY container, name, snapshot LIMIT ? + 0
