SELECT seq FROM lease_history WHERE seq > ?1 ORDER BY seq LIMIT 1
