-- $1 resource, $2 version. Changes nothing, but is committed: its answer says that what
-- was committed before is on the synchronous replicas too.
UPDATE {s}.leases SET waiting = waiting WHERE resource = $1 AND version = $2
