-- The rows of a container whose deletion is under way need not agree.
SELECT container, count(*), name FROM blob_tags
WHERE container NOT IN (SELECT id FROM blob_containers WHERE deleting)
  AND NOT EXISTS (SELECT 1 FROM blob_items i
    WHERE i.container = blob_tags.container AND i.name = blob_tags.name AND i.snapshot = ? AND i.committed)
GROUP BY container, name
