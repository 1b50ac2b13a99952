-- $1 resource. Deletes a row whose lease has ended.
DELETE FROM {s}.leases WHERE resource = $1 AND (state NOT IN (1, 2) OR ends <= clock_timestamp())
