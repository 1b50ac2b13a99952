SELECT d.manifest, d.container, d.name,
  EXISTS (SELECT 1 FROM blob_items i WHERE i.container = d.container AND i.name = d.name AND i.manifest = d.manifest),
  (SELECT count(*) FROM (SELECT 1 FROM blob_pieces p WHERE p.manifest = d.manifest LIMIT ? + 0))
FROM blob_dropped d WHERE d.manifest > ? ORDER BY d.manifest LIMIT ? + 0
