-- $1 the last number to show, $2 below which, $3 resource, $4 and $5 first and last name of a
-- prefix, $6 holder, $7 kind, $8 since, $9 until, $10 how many. Null: no filter.
SELECT seq, at, kind, resource, holder, token, state_before, state_after, renewals, why, details
FROM {s}.lease_history
WHERE seq <= $1 AND seq > (SELECT purged FROM {s}.lease_control)
  AND ($2::bigint IS NULL OR seq < $2)
  AND ($3::text IS NULL OR resource = $3)
  AND ($4::text IS NULL OR resource >= $4 AND resource <= $5 AND starts_with(resource, $4))
  AND ($6::text IS NULL OR holder = $6)
  AND ($7::text IS NULL OR kind = $7)
  AND ($8::timestamptz IS NULL OR at >= $8)
  AND ($9::timestamptz IS NULL OR at < $9)
ORDER BY seq DESC LIMIT $10
