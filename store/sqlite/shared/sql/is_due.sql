-- Whether a lease has ended after ?1 and until ?2, and that is not recorded.
SELECT EXISTS (SELECT 1 FROM leases WHERE state IN (1, 2) AND ends > ?1 AND ends <= ?2)
