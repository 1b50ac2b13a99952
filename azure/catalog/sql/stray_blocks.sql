SELECT container, count(*), name FROM blob_blocks
WHERE container NOT IN (SELECT id FROM blob_containers) GROUP BY container, name
