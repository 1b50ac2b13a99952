-- $1 holder. Locks its live rows in the order of their names, so that two such steps
-- do not wait for each other in a cycle.
SELECT r.resource, r.holder, r.id, r.token, r.state, r.ttl_ms, r.ends, r.acquired, r.renewed, r.renewals, r.max_renewals,
  r.metadata, r.former, r.handed, r.caller, r.version, r.waiting
FROM {s}.leases r WHERE r.holder = $1 AND r.state IN (1, 2) ORDER BY r.resource FOR UPDATE
