-- $1 how many at most.
DELETE FROM {s}.leases WHERE resource IN (SELECT resource FROM {s}.leases LIMIT $1)
