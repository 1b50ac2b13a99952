-- $1 resource, $2 holder, $3 after, $4 and $5 first and last name of a prefix, $6 live
-- only, $7 how many. Null: no filter.
SELECT now(), r.resource, r.holder, r.id, r.token, r.state, r.ttl_ms, r.ends, r.acquired, r.renewed, r.renewals,
  r.max_renewals, r.metadata, r.former, r.handed, r.caller, r.version, r.waiting
FROM {s}.leases r
WHERE ($1::text IS NULL OR r.resource = $1)
  AND ($2::text IS NULL OR r.holder = $2)
  AND ($3::text IS NULL OR r.resource > $3)
  AND ($4::text IS NULL OR r.resource >= $4 AND r.resource <= $5 AND starts_with(r.resource, $4))
  AND (NOT $6::boolean OR r.state IN (1, 2) AND r.ends > now())
ORDER BY r.resource LIMIT $7
