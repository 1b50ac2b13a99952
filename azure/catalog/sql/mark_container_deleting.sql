UPDATE blob_containers SET deleting = 1 WHERE id = ?
