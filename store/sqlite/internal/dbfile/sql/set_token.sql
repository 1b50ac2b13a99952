UPDATE lease_counters SET token = ? WHERE one = 1
