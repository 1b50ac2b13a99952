SELECT DISTINCT c.account, c.name, i.name FROM blob_items i JOIN blob_containers c ON c.id = i.container
WHERE i.expires <= ? AND NOT c.deleting LIMIT ? + 0
