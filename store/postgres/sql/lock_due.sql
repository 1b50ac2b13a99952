-- $1 how many. Locks rows whose end is past and not recorded, but not those that
-- others are at.
SELECT r.resource, r.holder, r.id, r.token, r.state, r.ttl_ms, r.ends, r.acquired, r.renewed, r.renewals, r.max_renewals,
  r.metadata, r.former, r.handed, r.caller, r.version, r.waiting
FROM {s}.leases r WHERE r.state IN (1, 2) AND r.ends <= clock_timestamp() LIMIT $1 FOR UPDATE SKIP LOCKED
