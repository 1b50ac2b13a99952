-- What the user may not do, of what operations do.
SELECT coalesce(array_agg(wanted || ' on ' || name ORDER BY name, wanted), '{}')
FROM (VALUES
  ('leases', 'SELECT'), ('leases', 'INSERT'), ('leases', 'UPDATE'), ('leases', 'DELETE'),
  ('lease_history', 'SELECT'), ('lease_history', 'INSERT'), ('lease_history', 'DELETE'),
  ('lease_configs', 'SELECT'), ('lease_configs', 'INSERT'), ('lease_configs', 'UPDATE'), ('lease_configs', 'DELETE'),
  ('lease_control', 'SELECT'), ('lease_control', 'UPDATE'),
  ('lease_tokens', 'USAGE'), ('lease_tokens', 'SELECT'), ('lease_tokens', 'UPDATE'),
  ('lease_records', 'USAGE'), ('lease_records', 'SELECT')
) AS needed (name, wanted)
WHERE NOT CASE WHEN name IN ('lease_tokens', 'lease_records')
  THEN has_sequence_privilege('{s}.' || name, wanted)
  ELSE has_table_privilege('{s}.' || name, wanted) END
