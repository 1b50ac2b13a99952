package server

import (
	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
)

// azureLeaseCode names a refusal by a lease as Azure does.
func azureLeaseCode(e *catalog.LeaseError) string {
	switch e.Action {
	case catalog.Acquire:
		if e.Reason == leasehold.ReasonBreaking && e.SameID {
			return azerr.LeaseIsBreakingAndCannotBeAcquired
		}
		return azerr.LeaseAlreadyPresent
	case catalog.Renew:
		if e.SameID && (e.Reason == leasehold.ReasonBreaking || e.Reason == leasehold.ReasonBroken) {
			return azerr.LeaseIsBrokenAndCannotBeRenewed
		}
		return azerr.LeaseIdMismatchWithLeaseOperation
	case catalog.Change:
		switch {
		case !e.State.Locked():
			return azerr.LeaseNotPresentWithLeaseOperation
		case e.Reason == leasehold.ReasonBreaking:
			return azerr.LeaseIsBreakingAndCannotBeChanged
		}
		return azerr.LeaseIdMismatchWithLeaseOperation
	case catalog.Release:
		return azerr.LeaseIdMismatchWithLeaseOperation
	case catalog.Break:
		return azerr.LeaseNotPresentWithLeaseOperation
	}
	return guardCode(e)
}

// guardCode names the refusal of a read or a write by a lease.
func guardCode(e *catalog.LeaseError) string {
	switch {
	case e.Reason == leasehold.ReasonMissing:
		return azerr.LeaseIdMissing
	case e.Reason == leasehold.ReasonNotPresent && e.Container:
		return azerr.LeaseNotPresentWithContainerOperation
	case e.Reason == leasehold.ReasonNotPresent:
		return azerr.LeaseNotPresentWithBlobOperation
	case e.Container:
		return azerr.LeaseIdMismatchWithContainerOperation
	}
	return azerr.LeaseIdMismatchWithBlobOperation
}
