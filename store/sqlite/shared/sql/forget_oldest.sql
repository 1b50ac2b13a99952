-- Blob leases have a bound of their own, which the engine sees to.
DELETE FROM leases WHERE resource IN (
  SELECT resource FROM leases WHERE state IN (3, 4, 5) AND scoped = 0 ORDER BY ends LIMIT ?1
)
