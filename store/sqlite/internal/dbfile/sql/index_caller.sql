-- Of live leases: to count those of one caller.
CREATE INDEX leases_caller ON leases (caller) WHERE caller IS NOT NULL AND state IN (1, 2)
