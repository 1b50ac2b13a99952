-- $1 proposed id. The row that knows it, not locked.
SELECT r.resource, r.holder, r.id, r.token, r.state, r.ttl_ms, r.ends, r.acquired, r.renewed, r.renewals, r.max_renewals,
  r.metadata, r.former, r.handed, r.caller, r.version, r.waiting
FROM (
  SELECT 1 AS rank, i.* FROM {s}.leases i WHERE i.id = $1
  UNION ALL
  SELECT 2, f.* FROM {s}.leases f WHERE f.former = $1
  ORDER BY rank LIMIT 1
) r
