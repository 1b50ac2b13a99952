-- Up to ?2.
SELECT count(*) FROM (SELECT 1 FROM leases WHERE state IN (3, 4, 5) AND ends <= ?1 LIMIT ?2)
