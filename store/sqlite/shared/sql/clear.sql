-- Up to ?1 rows.
DELETE FROM leases WHERE resource IN (SELECT resource FROM leases WHERE scoped = 0 LIMIT ?1)
