REPLACE INTO lease_configs (key, type, value) VALUES (?, ?, ?)
