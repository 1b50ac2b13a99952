SELECT manifest, count(*), min(name) FROM (SELECT DISTINCT manifest, container, name FROM blob_items WHERE manifest <> 0)
GROUP BY manifest HAVING count(*) > 1
