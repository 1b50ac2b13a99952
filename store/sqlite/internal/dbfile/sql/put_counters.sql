UPDATE lease_counters
SET batch = ?, clock = ?, token = ?, seq = ?, purged = ?, boot_id = ?, time_namespace = ?, boot_clock = ?, wall_clock = ?, kept = ?
WHERE one = 1
