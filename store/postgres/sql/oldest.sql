SELECT coalesce(min(seq), 0) FROM {s}.lease_history WHERE seq > (SELECT purged FROM {s}.lease_control)
