-- Up to ?2.
SELECT count(*) FROM (SELECT 1 FROM leases WHERE state IN (1, 2) AND ends > ?1 LIMIT ?2)
