UPDATE lease_counters SET batch = ?, clock = ?, token = ?, seq = ?, purged = ? WHERE one = 1
