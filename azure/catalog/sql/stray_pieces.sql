SELECT manifest, count(*), '' FROM blob_pieces
WHERE manifest NOT IN (SELECT manifest FROM blob_dropped) AND manifest NOT IN (SELECT manifest FROM blob_items)
GROUP BY manifest
