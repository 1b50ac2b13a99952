SELECT DISTINCT c.account, c.name, i.name, i.snapshot
FROM blob_pieces p JOIN blob_items i ON i.manifest = p.manifest JOIN blob_containers c ON c.id = i.container
WHERE p.chunk = ? LIMIT ? + 0
