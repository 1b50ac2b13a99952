package api

import (
	"slices"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/server/internal/rest"
)

// Codes of the API itself. No store answers with them, so the root package does
// not know them.
const (
	codePath     leasehold.Reason = "not_found"
	codeMethod   leasehold.Reason = "method_not_allowed"
	codeInternal leasehold.Reason = "internal"
)

// codes are all the codes that an answer can carry. A problem's type points to
// the code on the page.
var codes = []rest.Code{
	{Code: leasehold.ReasonInvalid, When: "A value or the JSON breaks a rule; field and problem say which and how. Nothing was changed."},
	{Code: leasehold.ReasonUnauthenticated, When: "The request shows no token, or none that is known."},
	{Code: leasehold.ReasonForbidden, When: "The caller's token has no role for this, or not for this holder or resource."},
	{Code: leasehold.ReasonHolderMismatch, When: "The holder that was sent does not hold this lease."},
	{Code: leasehold.ReasonNotFound, When: "No lease is known by this id, or nothing is leased there."},
	{Code: leasehold.ReasonExpired, When: "The lease behind the id has expired. With acquire (409): a new intention needs a new id."},
	{Code: leasehold.ReasonReleased, When: "The lease behind the id was released. With acquire (409): a new intention needs a new id."},
	{Code: leasehold.ReasonBroken, When: "The lease behind the id was broken. With acquire (409): a new intention needs a new id."},
	{Code: leasehold.ReasonTokenMismatch, When: "The id is right, the token is of another grant."},
	{Code: leasehold.ReasonIDMismatch, When: "A guarded access showed the id of another lease."},
	{Code: leasehold.ReasonNotPresent, When: "A guarded access showed an id where no lease is."},
	{Code: leasehold.ReasonHeld, When: "Somebody else holds the resource: current says who and until when, queue_length how many wait; overlap says where claims meet, reserved_for for whom it is kept free."},
	{Code: leasehold.ReasonBreaking, When: "The lease is being broken and ends soon; until then it can be neither renewed nor acquired."},
	{Code: leasehold.ReasonTimeout, When: "The wait ended without a grant; waited_ms says after how long. Asking again within 30 s with the same proposed lease_id takes the place in the queue up again."},
	{Code: leasehold.ReasonMaxRenewals, When: "The lease has used up its renewals."},
	{Code: leasehold.ReasonIDInUse, When: "The proposed id is live on another resource, or with other claims."},
	{Code: leasehold.ReasonSuperseded, When: "A newer request with the same id took this one's place in the queue."},
	{Code: leasehold.ReasonCancelled, When: "The caller ended the wait."},
	{Code: leasehold.ReasonBlockingDisabled, When: "Waiting is switched off by the setting blocking_mode_enabled."},
	{Code: leasehold.ReasonDeadlock, When: "To wait here would never end: cycle says who waits for whom. Release what you hold and begin again."},
	{Code: leasehold.ReasonMissing, When: "A guarded write did not show the lease's id."},
	{Code: leasehold.ReasonTooLarge, When: "The body has too many bytes."},
	{Code: leasehold.ReasonMediaType, When: "The body is not application/json."},
	{Code: leasehold.ReasonRateLimited, When: "Too many requests, waiters, streams or reads of the history; the header Retry-After says when to come back."},
	{Code: leasehold.ReasonTooMany, When: "As many leases are live as the setting allows that field names, max_leases or max_leases_per_caller, or as may be in one namespace."},
	{Code: leasehold.ReasonUnsupported, When: "The store behind this server cannot do this."},
	{Code: leasehold.ReasonUnavailable, When: "The store is down or the server is shutting down; nothing was changed."},
	{Code: leasehold.ReasonUnknown, When: "The store did not answer in time. Whether it took effect is unknown; ask again with the same lease_id."},
	{Code: codePath, When: "There is no such path."},
	{Code: codeMethod, When: "The path does not take this method; the header Allow says which it takes."},
	{Code: codeInternal, When: "A mistake of the server's; its log has it under the request id."},
}

// The codes that calls have in common.
var (
	always   = []leasehold.Reason{leasehold.ReasonUnauthenticated, leasehold.ReasonForbidden, leasehold.ReasonInvalid, leasehold.ReasonRateLimited, leasehold.ReasonUnavailable, leasehold.ReasonUnknown, codeInternal}
	withBody = []leasehold.Reason{leasehold.ReasonTooLarge, leasehold.ReasonMediaType}
	optional = []leasehold.Reason{leasehold.ReasonUnsupported}
	byID     = []leasehold.Reason{leasehold.ReasonNotFound, leasehold.ReasonExpired, leasehold.ReasonReleased, leasehold.ReasonBroken, leasehold.ReasonTokenMismatch, leasehold.ReasonHolderMismatch, leasehold.ReasonBreaking}
)

// withCommonCodes returns all codes of a call, its own and those of every call, by
// status.
func withCommonCodes(e *endpoint) []leasehold.Reason {
	common := []leasehold.Reason{leasehold.ReasonInvalid} // for unknown parameters
	if len(e.Roles) > 0 {
		common = always
	}
	all := slices.Concat(e.Codes, common)
	if e.BodyType != nil {
		all = append(all, withBody...)
	}
	slices.SortStableFunc(all, func(a, b leasehold.Reason) int { return e.StatusOf(a) - e.StatusOf(b) })
	return all
}
