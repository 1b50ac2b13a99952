SELECT
  resource, holder, id, token, state, ttl, ends, acquired, renewed,
  renewals, max_renewals, metadata, former, handed, scoped, caller, claims, notes
FROM leases WHERE holder = ?1 AND state IN (1, 2) ORDER BY resource
