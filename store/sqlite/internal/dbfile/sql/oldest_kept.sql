-- The oldest record beyond ?2 that is not older than ?1. Walking up from the
-- oldest costs as much as there is to drop, and nothing where nothing is due.
SELECT seq FROM lease_history
WHERE seq > ?2 AND seq > (SELECT purged FROM lease_counters) AND at >= ?1
ORDER BY seq LIMIT 1
