SELECT batch, clock, token, seq, purged FROM lease_counters WHERE one = 1
