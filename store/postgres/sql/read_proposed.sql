-- $1 resource, $2 proposed id. As read.sql, and the row that knows the proposed id.
SELECT now(), c.version, r.resource, r.holder, r.id, r.token, r.state, r.ttl_ms, r.ends, r.acquired, r.renewed,
  r.renewals, r.max_renewals, r.metadata, r.former, r.handed, r.caller, r.version, r.waiting, k.resource, k.holder, k.id, k.token,
  k.state, k.ttl_ms, k.ends, k.acquired, k.renewed, k.renewals, k.max_renewals, k.metadata, k.former, k.handed, k.caller,
  k.version, k.waiting
FROM {s}.lease_control c
LEFT JOIN {s}.leases r ON r.resource = $1
LEFT JOIN LATERAL (
  SELECT 1 AS rank, i.* FROM {s}.leases i WHERE i.id = $2
  UNION ALL
  SELECT 2, f.* FROM {s}.leases f WHERE f.former = $2
  ORDER BY rank LIMIT 1
) k ON true
