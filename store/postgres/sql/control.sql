-- What concerns all leases. The settings are an object of numbers, or of true and false.
SELECT c.version, c.purged, c.move_id, c.move_state, c.move_peer, c.move_until,
  (SELECT json_object_agg(key, CASE type WHEN 'boolean' THEN to_json(value <> 0) ELSE to_json(value) END)::text FROM {s}.lease_configs)
FROM {s}.lease_control c
