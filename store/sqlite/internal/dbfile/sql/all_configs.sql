SELECT key, type, value FROM lease_configs
