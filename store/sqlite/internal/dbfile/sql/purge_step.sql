-- ?1: the last record to drop, ?2: how many at most.
DELETE FROM lease_history WHERE seq <= (
  SELECT max(seq) FROM (SELECT seq FROM lease_history WHERE seq <= ?1 ORDER BY seq LIMIT ?2)
)
