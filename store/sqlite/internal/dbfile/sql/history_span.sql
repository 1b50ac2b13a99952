-- The span of the records that are not purged.
SELECT
  (SELECT seq FROM lease_history WHERE seq > (SELECT purged FROM lease_counters) ORDER BY seq LIMIT 1),
  (SELECT seq FROM lease_history WHERE seq > (SELECT purged FROM lease_counters) ORDER BY seq DESC LIMIT 1)
