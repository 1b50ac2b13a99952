SELECT seq, at, kind, resource, holder, token, state_before, state_after, renewals, why, details
FROM lease_history WHERE seq > ?1 ORDER BY seq LIMIT ?2
