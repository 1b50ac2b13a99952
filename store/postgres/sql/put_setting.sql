-- $1 key, $2 type, $3 value.
INSERT INTO {s}.lease_configs (key, type, value) VALUES ($1, $2, $3)
ON CONFLICT (key) DO UPDATE SET type = EXCLUDED.type, value = EXCLUDED.value
