-- $1 id. As read.sql, of the row whose id it is or was.
SELECT now(), c.version, r.resource, r.holder, r.id, r.token, r.state, r.ttl_ms, r.ends, r.acquired, r.renewed,
  r.renewals, r.max_renewals, r.metadata, r.former, r.handed, r.caller, r.version, r.waiting
FROM {s}.lease_control c
LEFT JOIN LATERAL (
  SELECT 1 AS rank, i.* FROM {s}.leases i WHERE i.id = $1
  UNION ALL
  SELECT 2, f.* FROM {s}.leases f WHERE f.former = $1
  ORDER BY rank LIMIT 1
) r ON true
