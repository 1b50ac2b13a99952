DELETE FROM blob_tags WHERE container = ? AND name = ?
  AND NOT EXISTS (SELECT 1 FROM blob_items i
    WHERE i.container = blob_tags.container AND i.name = blob_tags.name AND i.snapshot = ? AND i.committed)
