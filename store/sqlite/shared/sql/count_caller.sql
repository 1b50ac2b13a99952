-- Up to ?2.
SELECT count(*) FROM (SELECT 1 FROM leases WHERE caller = ?3 AND state IN (1, 2) AND ends > ?1 LIMIT ?2)
