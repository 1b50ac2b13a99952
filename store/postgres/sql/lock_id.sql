-- $1 id. As lock.sql, of the row whose id it is or was.
WITH r AS MATERIALIZED (
  SELECT * FROM {s}.leases WHERE id = $1 OR former = $1 ORDER BY (id = $1) DESC LIMIT 1 FOR UPDATE
)
SELECT clock_timestamp(), c.version, r.resource, r.holder, r.id, r.token, r.state, r.ttl_ms, r.ends, r.acquired, r.renewed,
  r.renewals, r.max_renewals, r.metadata, r.former, r.handed, r.caller, r.version, r.waiting
FROM {s}.lease_control c LEFT JOIN r ON true
