DELETE FROM blob_containers WHERE id = ?
