DELETE FROM {s}.lease_configs
