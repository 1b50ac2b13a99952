SELECT count(*), max(seq) FROM lease_history
WHERE seq > (SELECT purged FROM lease_counters) AND seq <= ?1
