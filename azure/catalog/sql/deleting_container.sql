SELECT id FROM blob_containers WHERE account = ? AND name = ? AND deleting
