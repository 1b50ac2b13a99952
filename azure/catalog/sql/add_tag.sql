INSERT OR IGNORE INTO blob_tags (container, key, value, name) VALUES (?, ?, ?, ?)
