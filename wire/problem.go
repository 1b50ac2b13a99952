package wire

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/leasehold/leasehold"
)

// ProblemType is the media type of every error answer (RFC 9457).
const ProblemType = "application/problem+json"

// Problem is an error answer. Code is stable; title and detail are for people.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Code   string `json:"code"`

	Field      string   `json:"field,omitempty" doc:"The value at fault, with invalid_argument; the setting that is used up, with too_many_leases."`
	Problem    string   `json:"problem,omitempty" doc:"What is wrong with it; the value of the setting."`
	Operation  string   `json:"operation,omitempty"`
	Resource   string   `json:"resource,omitempty"`
	Store      string   `json:"store,omitempty"`
	Current    *Lease   `json:"current,omitempty" doc:"The lease in the way."`
	Overlap    *Overlap `json:"overlap,omitempty" doc:"Where the request and the lease in the way meet, if either is of several resources, of paths or shared."`
	Reserved   string   `json:"reserved_for,omitempty" doc:"It is free, and kept for this holder, who came first and waits for more."`
	Cycle      []Wait   `json:"cycle,omitempty" doc:"With deadlock: who waits for whom. The last waits for the first, which is the holder of the request."`
	RetryAfter *float64 `json:"retry_after_seconds,omitempty"`
	Waiting    *int     `json:"queue_length,omitempty"`
	Remaining  *float64 `json:"remaining_seconds,omitempty" doc:"What is left of a break period."`
	WaitedMS   *int64   `json:"waited_ms,omitempty"`
	RequestID  string   `json:"request_id,omitempty"`
}

// statuses is the one table between codes and HTTP statuses.
var statuses = map[leasehold.Reason]int{
	leasehold.ReasonInvalid: http.StatusBadRequest,

	leasehold.ReasonUnauthenticated: http.StatusUnauthorized,
	leasehold.ReasonForbidden:       http.StatusForbidden,
	leasehold.ReasonHolderMismatch:  http.StatusForbidden,

	leasehold.ReasonNotFound:      http.StatusNotFound,
	leasehold.ReasonExpired:       http.StatusNotFound,
	leasehold.ReasonReleased:      http.StatusNotFound,
	leasehold.ReasonBroken:        http.StatusNotFound,
	leasehold.ReasonTokenMismatch: http.StatusNotFound,
	leasehold.ReasonIDMismatch:    http.StatusNotFound,
	leasehold.ReasonNotPresent:    http.StatusNotFound,

	leasehold.ReasonHeld:             http.StatusConflict,
	leasehold.ReasonBreaking:         http.StatusConflict,
	leasehold.ReasonDeadlock:         http.StatusConflict,
	leasehold.ReasonIDInUse:          http.StatusConflict,
	leasehold.ReasonMissing:          http.StatusConflict,
	leasehold.ReasonTimeout:          http.StatusConflict,
	leasehold.ReasonCancelled:        http.StatusConflict,
	leasehold.ReasonSuperseded:       http.StatusConflict,
	leasehold.ReasonMaxRenewals:      http.StatusConflict,
	leasehold.ReasonBlockingDisabled: http.StatusConflict,

	leasehold.ReasonTooLarge:    http.StatusRequestEntityTooLarge,
	leasehold.ReasonMediaType:   http.StatusUnsupportedMediaType,
	leasehold.ReasonRateLimited: http.StatusTooManyRequests,
	leasehold.ReasonTooMany:     http.StatusTooManyRequests,
	leasehold.ReasonUnsupported: http.StatusNotImplemented,
	leasehold.ReasonUnavailable: http.StatusServiceUnavailable,
	leasehold.ReasonUnknown:     http.StatusGatewayTimeout,
}

// Status returns the HTTP status of an error. An ended lease is not found, but
// proposing its id is a conflict.
func Status(e *leasehold.Error) int {
	status, ok := statuses[e.Reason]
	switch {
	case !ok:
		return http.StatusInternalServerError
	case status == http.StatusNotFound && (e.Op == "acquire" || e.Field == "proposed_lease_id"):
		return http.StatusConflict
	}
	return status
}

// FromError converts an error.
func FromError(e *leasehold.Error) Problem {
	status := Status(e)
	p := Problem{
		Type: "/docs#" + string(e.Reason), Title: http.StatusText(status), Status: status,
		Detail: e.Error(), Code: string(e.Reason),
		Field: e.Field, Problem: e.Problem, Operation: e.Op, Resource: e.Resource, Store: e.Store,
		Overlap: fromOverlap(e.Overlap), Reserved: e.Reserved, Cycle: fromCycle(e.Cycle),
	}
	if e.Current != nil {
		current := *e.Current
		current.ID = leasehold.ID{} // the caller that is refused is not its owner
		p.Current = new(FromLease(current))
	}
	if e.Current != nil || e.Waiting > 0 {
		p.Waiting = new(e.Waiting)
	}
	if e.RetryAfter > 0 {
		p.RetryAfter = new(e.RetryAfter.Seconds())
	}
	if e.Remaining != 0 {
		p.Remaining = new(seconds(e.Remaining))
	}
	if e.Waited > 0 || e.Reason == leasehold.ReasonTimeout {
		p.WaitedMS = new(e.Waited.Milliseconds())
	}
	return p
}

// Error is the inverse of FromError. The cause comes back as text. A code that
// this program does not know, from a newer server, becomes the reason that its
// status stands for.
func (p Problem) Error() *leasehold.Error {
	e := &leasehold.Error{
		Reason: leasehold.Reason(p.Code), Op: p.Operation, Resource: p.Resource, Store: p.Store,
		Field: p.Field, Problem: p.Problem, Reserved: p.Reserved,
		Overlap: p.Overlap.toOverlap(), Cycle: toCycle(p.Cycle),
	}
	if p.Current != nil {
		if current, err := p.Current.Lease(); err == nil {
			current.ID, current.Notes = leasehold.ID{}, nil
			e.Current = &current
		}
	}
	if p.RetryAfter != nil {
		e.RetryAfter = max(0, duration(*p.RetryAfter))
	}
	if p.Waiting != nil {
		e.Waiting = max(0, *p.Waiting)
	}
	if p.Remaining != nil {
		e.Remaining = duration(*p.Remaining)
	}
	if p.WaitedMS != nil {
		e.Waited = milliseconds(*p.WaitedMS)
	}
	e.Cause = p.cause(e)
	return e
}

// cause recovers the cause. It replaces an unknown code by a known reason and
// keeps the server's text.
func (p Problem) cause(e *leasehold.Error) error {
	if _, known := statuses[e.Reason]; !known {
		e.Reason = ReasonOf(p.Status)
		return fmt.Errorf("the server answered %d %q: %s", p.Status, p.Code, p.Detail)
	}
	if text, ok := strings.CutPrefix(p.Detail, e.Error()+": "); ok {
		return errors.New(text)
	}
	return nil
}

// ReasonOf returns the reason that an HTTP status stands for where there is no
// code, or none that is known.
func ReasonOf(status int) leasehold.Reason {
	if reason, ok := reasons[status]; ok {
		return reason
	}
	if status >= 400 && status < 500 {
		return leasehold.ReasonInvalid
	}
	return leasehold.ReasonUnknown // it may have happened
}

var reasons = map[int]leasehold.Reason{
	http.StatusUnauthorized:          leasehold.ReasonUnauthenticated,
	http.StatusForbidden:             leasehold.ReasonForbidden,
	http.StatusNotFound:              leasehold.ReasonNotFound,
	http.StatusMethodNotAllowed:      leasehold.ReasonUnsupported,
	http.StatusConflict:              leasehold.ReasonHeld,
	http.StatusRequestEntityTooLarge: leasehold.ReasonTooLarge,
	http.StatusUnsupportedMediaType:  leasehold.ReasonMediaType,
	http.StatusTooManyRequests:       leasehold.ReasonRateLimited,
	http.StatusNotImplemented:        leasehold.ReasonUnsupported,
	http.StatusServiceUnavailable:    leasehold.ReasonUnavailable,
}
