DELETE FROM lease_configs
