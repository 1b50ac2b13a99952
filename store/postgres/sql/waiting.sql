-- $1 resource, $2 until when somebody waits.
UPDATE {s}.leases SET waiting = $2 WHERE resource = $1
