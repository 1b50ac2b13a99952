-- $1 how many at most.
SELECT count(*) FROM (
  SELECT 1 FROM {s}.leases WHERE state IN (1, 2) AND ends > clock_timestamp() LIMIT $1
) l
