SELECT EXISTS (SELECT 1 FROM lease_history WHERE seq <= ?1)
