-- $1 resource. Locks its row and only then reads the time: in one SELECT FOR UPDATE
-- the time could be that before the wait for the lock.
WITH r AS MATERIALIZED (SELECT * FROM {s}.leases WHERE resource = $1 FOR UPDATE)
SELECT clock_timestamp(), c.version, r.resource, r.holder, r.id, r.token, r.state, r.ttl_ms, r.ends, r.acquired, r.renewed,
  r.renewals, r.max_renewals, r.metadata, r.former, r.handed, r.caller, r.version, r.waiting
FROM {s}.lease_control c LEFT JOIN r ON true
