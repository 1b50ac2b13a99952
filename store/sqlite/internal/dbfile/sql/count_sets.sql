-- Leases of claims that have not ended at ?3, as far as the file knows. Their names are
-- from ?1 up to ?2.
SELECT count(*) FROM leases
WHERE resource >= ?1 AND resource < ?2 AND claims IS NOT NULL AND state IN (1, 2) AND ends > ?3
