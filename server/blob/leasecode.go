package blob

import (
	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/server/blob/catalog"
	"github.com/leasehold/leasehold/server/blob/fault"
)

// azureLeaseCode names a refusal by a lease as Azure does.
func azureLeaseCode(e *catalog.LeaseError) string {
	switch e.Action {
	case catalog.Acquire:
		if e.Reason == leasehold.ReasonBreaking && e.SameID {
			return fault.LeaseIsBreakingAndCannotBeAcquired
		}
		return fault.LeaseAlreadyPresent
	case catalog.Renew:
		if e.SameID && (e.Reason == leasehold.ReasonBreaking || e.Reason == leasehold.ReasonBroken) {
			return fault.LeaseIsBrokenAndCannotBeRenewed
		}
		return fault.LeaseIdMismatchWithLeaseOperation
	case catalog.Change:
		switch {
		case !e.State.Locked():
			return fault.LeaseNotPresentWithLeaseOperation
		case e.Reason == leasehold.ReasonBreaking:
			return fault.LeaseIsBreakingAndCannotBeChanged
		}
		return fault.LeaseIdMismatchWithLeaseOperation
	case catalog.Release:
		return fault.LeaseIdMismatchWithLeaseOperation
	case catalog.Break:
		return fault.LeaseNotPresentWithLeaseOperation
	}
	return guardCode(e)
}

// guardCode names the refusal of a read or a write by a lease.
func guardCode(e *catalog.LeaseError) string {
	switch {
	case e.Reason == leasehold.ReasonMissing:
		return fault.LeaseIdMissing
	case e.Reason == leasehold.ReasonNotPresent && e.Container:
		return fault.LeaseNotPresentWithContainerOperation
	case e.Reason == leasehold.ReasonNotPresent:
		return fault.LeaseNotPresentWithBlobOperation
	case e.Container:
		return fault.LeaseIdMismatchWithContainerOperation
	}
	return fault.LeaseIdMismatchWithBlobOperation
}
