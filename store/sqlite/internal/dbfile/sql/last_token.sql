SELECT token FROM lease_counters WHERE one = 1
