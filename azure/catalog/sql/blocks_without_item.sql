-- The rows of a container whose deletion is under way need not agree.
SELECT container, count(*), name FROM blob_blocks b
WHERE container NOT IN (SELECT id FROM blob_containers WHERE deleting)
  AND NOT EXISTS (SELECT 1 FROM blob_items i WHERE i.container = b.container AND i.name = b.name AND i.snapshot = ?)
  AND container IN (SELECT id FROM blob_containers)
GROUP BY container, name
