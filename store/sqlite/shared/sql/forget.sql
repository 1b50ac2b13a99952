DELETE FROM leases WHERE resource IN (
  SELECT resource FROM leases WHERE state IN (3, 4, 5) AND ends <= ?1 ORDER BY ends LIMIT ?2
)
