-- $1 after which number, $2 the last to show, $3 how many.
SELECT seq, at, kind, resource, holder, token, state_before, state_after, renewals, why, details
FROM {s}.lease_history
WHERE seq > greatest($1, (SELECT purged FROM {s}.lease_control)) AND seq <= $2
ORDER BY seq LIMIT $3
