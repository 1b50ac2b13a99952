SELECT id, account, name FROM blob_containers WHERE NOT deleting
