SELECT batch, clock, token, seq, purged, boot_id, time_namespace, boot_clock, wall_clock, kept FROM lease_counters WHERE one = 1
