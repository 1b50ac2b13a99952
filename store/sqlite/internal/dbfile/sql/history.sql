-- ?1 resource, ?2 prefix from, ?3 prefix to, ?4 holder, ?5 kind, ?6 since, ?7 until,
-- ?8 below. A filter that is null lets everything pass. Every 512th record is
-- returned as well, wanted or not, so that a scan can stop and go on from there.
SELECT seq, at, kind, resource, holder, token, state_before, state_after, renewals, why, details,
  (?1 IS NULL OR resource = ?1)
  AND (?2 IS NULL OR (resource >= ?2 AND resource < ?3))
  AND (?4 IS NULL OR holder = ?4)
  AND (?5 IS NULL OR kind = ?5)
  AND (?6 IS NULL OR at >= ?6)
  AND (?7 IS NULL OR at < ?7) AS wanted
FROM lease_history
WHERE seq > (SELECT purged FROM lease_counters)
  AND seq < ?8
  AND (wanted OR seq & 511 = 0)
ORDER BY seq DESC
