package machine

import "github.com/leasehold/leasehold"

// Release ends an active or breaking lease.
func Release(now Instant, r leasehold.ReleaseRequest, row Row, p Policy) Outcome {
	o := newOutcome(now, row, r.ID)
	if reason := match(o.Row, r.ID, r.Holder, r.Token); reason != "" {
		return o.refuse(reason)
	}
	switch o.Row.State {
	case leasehold.StateActive, leasehold.StateBreaking:
		return endLease(now, o, leasehold.StateReleased, leasehold.KindReleased, r.Why)
	case leasehold.StateExpired, leasehold.StateBroken:
		if p.ReleaseEnded {
			return endLease(now, o, leasehold.StateReleased, leasehold.KindReleased, r.Why)
		}
	}
	return o.refuse(endReason(o.Row.State))
}

// ForceRelease ends a live lease on an operator's word.
func ForceRelease(now Instant, row Row, why string) Outcome {
	o := newOutcome(now, row, leasehold.ID{})
	if !o.Row.State.Locked() {
		return o.refuse(endReason(o.Row.State))
	}
	return endLease(now, o, leasehold.StateReleased, leasehold.KindForceReleased, why)
}

// endLease ends the lease now, and keeps an earlier end. The answer still has
// the metadata, the row that is kept has none.
func endLease(now Instant, o Outcome, state leasehold.State, kind leasehold.Kind, why string) Outcome {
	next, metadata := o.Row, o.Row.Metadata
	next.State = state
	next.Ends = min(now.Clock, next.Ends)
	next.Metadata = nil
	o = o.step(next, kind, why)
	o.Row.Metadata = metadata
	return o
}
