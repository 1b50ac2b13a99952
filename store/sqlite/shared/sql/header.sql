-- The counters in the order of counters.sql, and the mark of a move.
SELECT
  batch, clock, token, seq, purged, boot_id, time_namespace, boot_clock, wall_clock, kept,
  id, state, peer, until, version
FROM lease_counters JOIN lease_move USING (one)
WHERE one = 1
