CREATE INDEX leases_id ON leases (id)
