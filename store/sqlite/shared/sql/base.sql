-- What is not scoped, ended or not, and what is scoped and lives; and the notes of live
-- leases, and of those that ended at ?2 or later.
SELECT
  count(*) FILTER (WHERE scoped = 0 AND state IN (1, 2) AND ends > ?1),
  count(*) FILTER (WHERE scoped = 0 AND NOT (state IN (1, 2) AND ends > ?1)),
  count(*) FILTER (WHERE scoped = 1 AND state IN (1, 2) AND ends > ?1),
  count(*) FILTER (WHERE scoped = 0 AND notes IS NOT NULL
    AND CASE WHEN state IN (1, 2) THEN ends > ?1 ELSE ends >= ?2 END)
FROM leases
