CREATE INDEX leases_former ON leases (former) WHERE former IS NOT NULL
