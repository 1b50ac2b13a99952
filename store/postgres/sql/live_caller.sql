-- $1 caller, $2 how many at most.
SELECT count(*) FROM (
  SELECT 1 FROM {s}.leases WHERE caller = $1 AND state IN (1, 2) AND ends > clock_timestamp() LIMIT $2
) l
