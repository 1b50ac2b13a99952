UPDATE lease_counters SET boot_id = NULL, time_namespace = NULL, boot_clock = NULL, wall_clock = NULL WHERE one = 1
