SELECT
  resource, holder, id, token, state, ttl, ends, acquired, renewed,
  renewals, max_renewals, metadata, former, handed, scoped, caller, claims, notes
FROM leases WHERE id = ?1 AND scoped = 0 LIMIT 1
