INSERT OR IGNORE INTO blob_dropped (manifest, container, name) VALUES (?, 0, '')
