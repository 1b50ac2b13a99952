SELECT i.expires FROM blob_items i JOIN blob_containers c ON c.id = i.container
WHERE i.expires IS NOT NULL AND NOT c.deleting ORDER BY i.expires LIMIT 1
