package mcp

import (
	"errors"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/wire"
)

// refuse makes the answer to a call that failed. A conflict with others is no error:
// the model did nothing wrong, and the answer says how to go on.
func (c *call) refuse(out Result, err error) (Result, bool) {
	e := (*leasehold.Error)(nil)
	if !errors.As(err, &e) { // from a store that broke its contract
		e = &leasehold.Error{Reason: leasehold.ReasonUnknown, Op: c.op, Cause: err}
	}
	c.logRefusal(e)
	if c.session.held == nil && !errors.Is(e.Cause, errDraining) { // over HTTP
		e = wire.Public(e)
	}
	out.Code, out.Message = string(e.Reason), e.Error()
	out.QueueLength, out.RetryAfter = e.Waiting, seconds(e.RetryAfter)
	if e.Current != nil {
		seen := c.seen(*e.Current)
		out.InTheWay, out.HeldBy, out.HeldFor = &seen, seen.HeldBy, seen.HeldFor
		out.ExpiresAt, out.Remaining = seen.ExpiresAt, seen.Remaining
	}
	if e.Overlap != nil {
		out.Overlap = &Overlap{Requested: e.Overlap.Requested.String(), Held: e.Overlap.Held.String(), Part: e.Overlap.Part}
	}
	for _, w := range e.Cycle {
		out.Cycle = append(out.Cycle, Edge{Holder: w.Holder, WaitsFor: w.Claim.String(), HeldBy: w.HeldBy})
	}
	conflict := errors.Is(e, leasehold.ErrHeld) || errors.Is(e, leasehold.ErrTimeout)
	if !keepsPlace(e) {
		out.LeaseID = "" // of no use any more
	}
	out.NextStep = c.advice(e, out)
	return out, !conflict
}

// keepsPlace reports whether another acquire with the same id makes sense.
func keepsPlace(e *leasehold.Error) bool {
	switch e.Reason {
	case leasehold.ReasonHeld, leasehold.ReasonBreaking, leasehold.ReasonTimeout, leasehold.ReasonSuperseded,
		leasehold.ReasonCancelled, leasehold.ReasonUnavailable, leasehold.ReasonRateLimited, leasehold.ReasonUnknown:
		return true
	}
	return false
}

// isGone reports whether the lease has ended, or is not known.
func isGone(err error) bool {
	return errors.Is(err, leasehold.ErrLost) || errors.Is(err, leasehold.ErrNotFound)
}
