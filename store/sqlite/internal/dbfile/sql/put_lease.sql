REPLACE INTO leases (
  resource, holder, id, token, state, ttl, ends, acquired, renewed,
  renewals, max_renewals, metadata, former, handed, scoped, caller, claims, notes
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
