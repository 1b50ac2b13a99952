-- ?1 resource, ?2 from, ?3 to, ?4 after, ?5 holder, ?6 only live ones at ?7, ?8 only
-- unscoped ones, ?9 how many. A filter that is null lets everything pass.
SELECT
  resource, holder, id, token, state, ttl, ends, acquired, renewed,
  renewals, max_renewals, metadata, former, handed, scoped, caller, claims, notes
FROM leases
WHERE resource >= ?2 AND (?3 IS NULL OR resource < ?3)
  AND (?1 IS NULL OR resource = ?1)
  AND resource <> ?4
  AND (?5 IS NULL OR holder = ?5)
  AND (NOT ?6 OR (state IN (1, 2) AND ends > ?7))
  AND (NOT ?8 OR scoped = 0)
ORDER BY resource LIMIT ?9
