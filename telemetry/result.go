package telemetry

import "github.com/leasehold/leasehold"

// result is the attribute of that name: how an operation ended.
type result uint8

const (
	resultSuccess  result = iota
	resultFailure         // the store failed, or the request breaks a rule
	resultConflict        // normal competition: held by another
	resultTimeout         // the wait ended without a grant
	resultLost            // the lease has ended, or is not known any more
	results
)

var resultNames = [results]string{"success", "failure", "conflict", "timeout", "lost"}

func (r result) String() string { return resultNames[r] }

// failed reports whether a span with this result has the status Error.
func (r result) failed() bool { return r != resultSuccess && r != resultConflict }

func resultOf(err error) result {
	if err == nil {
		return resultSuccess
	}
	switch leasehold.ReasonOf(err).Sentinel() {
	case leasehold.ErrHeld:
		return resultConflict
	case leasehold.ErrTimeout:
		return resultTimeout
	case leasehold.ErrLost, leasehold.ErrNotFound:
		return resultLost
	}
	return resultFailure
}

// reasonOf is the attribute lease.failure_reason. An error that is not of the
// contract has the reason of an unknown outcome.
func reasonOf(err error) string {
	if reason := leasehold.ReasonOf(err); reason != "" {
		return string(reason)
	}
	return string(leasehold.ReasonUnknown)
}

// method is a method of a store: the attribute operation, and the name of its span.
type method uint8

const (
	methodAcquire method = iota
	methodWait
	methodRenew
	methodRelease
	methodStatus
	methodBreak
	methodChange
	methodTransfer
	methodFind
	methodList
	methodWaits
	methodReleaseHolder
	methodHistory
	methodCleanup
	methodSettings
	methodSetSetting
	methodBackup
	methods
)

var methodNames = [methods]struct{ operation, span string }{
	methodAcquire:       {"acquire", "Lease.TryAcquire"},
	methodWait:          {"wait", "Lease.Acquire"},
	methodRenew:         {"renew", "Lease.Renew"},
	methodRelease:       {"release", "Lease.Release"},
	methodStatus:        {"status", "Lease.Status"},
	methodBreak:         {"break", "Lease.Break"},
	methodChange:        {"change", "Lease.Change"},
	methodTransfer:      {"transfer", "Lease.Transfer"},
	methodFind:          {"find", "Lease.Find"},
	methodList:          {"list", "Lease.List"},
	methodWaits:         {"waits", "Lease.Waits"},
	methodReleaseHolder: {"release_holder", "Lease.ReleaseHolder"},
	methodHistory:       {"history", "Lease.History"},
	methodCleanup:       {"cleanup", "Lease.Cleanup"},
	methodSettings:      {"settings", "Lease.Settings"},
	methodSetSetting:    {"set_setting", "Lease.SetSetting"},
	methodBackup:        {"backup", "Lease.Backup"},
}
