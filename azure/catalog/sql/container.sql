SELECT id, ticks, details FROM blob_containers WHERE account = ? AND name = ? AND NOT deleting
