-- $1 how many at most.
DELETE FROM {s}.lease_history WHERE seq IN (
  SELECT seq FROM {s}.lease_history WHERE seq <= (SELECT purged FROM {s}.lease_control) ORDER BY seq LIMIT $1
)
