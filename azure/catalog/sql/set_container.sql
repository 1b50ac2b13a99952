UPDATE blob_containers SET ticks = ?, details = ? WHERE id = ?
