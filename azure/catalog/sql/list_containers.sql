SELECT id, name, ticks, details FROM blob_containers
WHERE account = ? AND name >= ? AND name > ? AND name < ? AND NOT deleting ORDER BY name
