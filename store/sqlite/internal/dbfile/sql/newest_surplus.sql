-- The newest record beyond the newest ?1.
SELECT seq FROM lease_history
WHERE seq > (SELECT purged FROM lease_counters)
ORDER BY seq DESC LIMIT 1 OFFSET ?1
