INSERT INTO lease_history (
  seq, at, kind, resource, holder, token, state_before, state_after, renewals, why, details
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
