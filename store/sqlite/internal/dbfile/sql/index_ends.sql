CREATE INDEX leases_ends ON leases (state, ends)
