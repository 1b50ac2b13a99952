package api

import (
	"slices"

	"github.com/leasehold/leasehold"
)

// code is a problem code with what it means, for the page and the document.
type code struct {
	Code leasehold.Reason
	When string
}

// codes are all the codes that an answer can carry. A problem's type points to
// the code's place on the page.
var codes = []code{
	{leasehold.ReasonInvalid, "A value or the JSON breaks a rule; field and problem say which and how. Nothing was changed."},
	{leasehold.ReasonUnauthenticated, "The request shows no token, or none that is known."},
	{leasehold.ReasonForbidden, "The caller's token has no role for this, or not for this holder or resource."},
	{leasehold.ReasonHolderMismatch, "The holder that was sent does not hold this lease."},
	{leasehold.ReasonNotFound, "No lease is known by this id, or nothing is leased there."},
	{leasehold.ReasonExpired, "The lease behind the id has expired. With acquire (409): a new intention needs a new id."},
	{leasehold.ReasonReleased, "The lease behind the id was released. With acquire (409): a new intention needs a new id."},
	{leasehold.ReasonBroken, "The lease behind the id was broken. With acquire (409): a new intention needs a new id."},
	{leasehold.ReasonTokenMismatch, "The id is right, the token is of another grant."},
	{leasehold.ReasonIDMismatch, "A guarded access showed the id of another lease."},
	{leasehold.ReasonNotPresent, "A guarded access showed an id where no lease is."},
	{leasehold.ReasonHeld, "Somebody else holds the resource: current says who and until when, queue_length how many wait."},
	{leasehold.ReasonBreaking, "The lease is being broken and ends soon; until then it can be neither renewed nor acquired."},
	{leasehold.ReasonTimeout, "The wait ended without a grant; waited_ms says after how long. Asking again within 30 s with the same proposed lease_id takes the place in the queue up again."},
	{leasehold.ReasonMaxRenewals, "The lease has used up its renewals."},
	{leasehold.ReasonIDInUse, "The proposed id is live on another resource."},
	{leasehold.ReasonSuperseded, "A newer request with the same id took this one's place in the queue."},
	{leasehold.ReasonCancelled, "The caller ended the wait."},
	{leasehold.ReasonBlockingDisabled, "Waiting is switched off by the setting blocking_mode_enabled."},
	{leasehold.ReasonDeadlock, "To wait here would close a circle of waiters."},
	{leasehold.ReasonMissing, "A guarded write did not show the lease's id."},
	{leasehold.ReasonTooLarge, "The body has too many bytes."},
	{leasehold.ReasonMediaType, "The body is not application/json."},
	{leasehold.ReasonRateLimited, "Too many requests, waiters, streams or reads of the history; the header Retry-After says when to come back."},
	{leasehold.ReasonTooMany, "As many leases are live as the setting allows that field names: max_leases or max_leases_per_caller."},
	{leasehold.ReasonUnsupported, "The store behind this server cannot do this."},
	{leasehold.ReasonUnavailable, "The store is down or the server is shutting down; nothing was changed."},
	{leasehold.ReasonUnknown, "The store did not answer in time. Whether it took effect is unknown; ask again with the same lease_id."},
	{codePath, "There is no such path."},
	{codeMethod, "The path does not take this method; the header Allow says which it takes."},
	{codeInternal, "A mistake of the server's; its log has it under the request id."},
}

// The codes that calls have in common.
var (
	always   = []leasehold.Reason{leasehold.ReasonUnauthenticated, leasehold.ReasonForbidden, leasehold.ReasonInvalid, leasehold.ReasonRateLimited, leasehold.ReasonUnavailable, leasehold.ReasonUnknown, codeInternal}
	withBody = []leasehold.Reason{leasehold.ReasonTooLarge, leasehold.ReasonMediaType}
	optional = []leasehold.Reason{leasehold.ReasonUnsupported}
	byID     = []leasehold.Reason{leasehold.ReasonNotFound, leasehold.ReasonExpired, leasehold.ReasonReleased, leasehold.ReasonBroken, leasehold.ReasonTokenMismatch, leasehold.ReasonHolderMismatch, leasehold.ReasonBreaking}
)

// allCodes lists the codes of a call, those it has in common with others too.
func (e *endpoint) allCodes() []leasehold.Reason {
	if len(e.Roles) == 0 {
		return append(slices.Clip(e.Codes), leasehold.ReasonInvalid) // they take no parameters
	}
	all := slices.Concat(e.Codes, always)
	if e.body != nil {
		all = append(all, withBody...)
	}
	return all
}

func (e *endpoint) statusOf(c leasehold.Reason) int {
	if own, ok := ownProblems[c]; ok {
		return own.status
	}
	return e.status(c)
}
