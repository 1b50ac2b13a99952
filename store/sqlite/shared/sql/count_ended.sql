SELECT count(*) FROM leases WHERE state IN (3, 4, 5)
