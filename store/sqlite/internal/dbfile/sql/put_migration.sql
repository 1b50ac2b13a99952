REPLACE INTO migrations (module, version, name, applied_at, status, error) VALUES (?, ?, ?, ?, ?, ?)
