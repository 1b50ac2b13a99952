SELECT
  resource, holder, id, token, state, ttl, ends, acquired, renewed,
  renewals, max_renewals, metadata, former, handed, scoped, caller, claims, notes
FROM leases WHERE state IN (1, 2) AND ends <= ?1 ORDER BY ends LIMIT ?2
