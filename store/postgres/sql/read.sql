-- $1 resource. Its row, what concerns all leases, and the time: that of the beginning, which
-- is no later than what is read, or a lease that is renewed between the two would have ended.
SELECT now(), c.version, r.resource, r.holder, r.id, r.token, r.state, r.ttl_ms, r.ends, r.acquired, r.renewed,
  r.renewals, r.max_renewals, r.metadata, r.former, r.handed, r.caller, r.version, r.waiting
FROM {s}.lease_control c
LEFT JOIN {s}.leases r ON r.resource = $1
