-- $1 purge point, $2 mark or null with $3 to $5.
UPDATE {s}.lease_control SET version = version + 1, purged = greatest(purged, $1),
  move_state = coalesce($2, move_state), move_id = coalesce($3, move_id),
  move_peer = coalesce($4, move_peer), move_until = coalesce($5, move_until)
