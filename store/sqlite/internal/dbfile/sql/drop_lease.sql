DELETE FROM leases WHERE resource = ?
