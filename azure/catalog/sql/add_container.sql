INSERT INTO blob_containers (id, account, name, ticks, details) VALUES (?, ?, ?, ?, ?)
