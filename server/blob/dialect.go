package blob

import (
	"github.com/leasehold/leasehold/server/blob/catalog"
	"github.com/leasehold/leasehold/server/blob/fault"
)

// dialect is what one face of the door does differently from the other.
type dialect struct {
	// prefix of all paths. Beside one, Host names no account.
	prefix string

	// open: the port has let the caller in already; nobody signs.
	open bool

	// leaseCode names a refusal by a lease.
	leaseCode func(*catalog.LeaseError) string

	// finalEnds: a lease that has ended is gone. Azure lets its id renew it,
	// release it and break it still.
	finalEnds bool

	// orphans: deleting a blob without a word about its snapshots leaves them
	// alone. Azure refuses it.
	orphans bool

	// baseFirst: lists have a blob before its snapshots, not after them.
	baseFirst bool
}

// azure is Azure's face.
var azure = &dialect{leaseCode: azureLeaseCode}

// localZure is the face on the main port.
var localZure = &dialect{
	prefix: dialectPrefix, open: true, leaseCode: localZureLeaseCode,
	finalEnds: true, orphans: true, baseFirst: true,
}

// localZureLeaseCode names a refusal by a lease as LocalZure does: LeaseNotFound
// if there is no lease that could be meant, LeaseIdMismatch if there is another.
func localZureLeaseCode(e *catalog.LeaseError) string {
	switch e.Action {
	case catalog.Acquire:
		return azureLeaseCode(e)
	case catalog.Read, catalog.Write:
		if guardCode(e) == fault.LeaseIdMissing {
			return fault.LeaseIdMissing
		}
		return fault.LeaseIdMismatch
	}
	switch {
	case !e.State.Locked():
		return fault.LeaseNotFound
	case e.SameID: // it is being broken
		return azureLeaseCode(e)
	}
	return fault.LeaseIdMismatch
}
