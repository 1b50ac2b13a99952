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
		o = endLease(now, o, leasehold.StateReleased, leasehold.KindReleased, r.Why)
		if r.Note != "" {
			o.keepNote(r.Note)
		}
		return o
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

// keepNote keeps a note for the next holder in the row of a lease that ends, and what
// it covered: another set may overlap with it.
func (o *Outcome) keepNote(text string) {
	kept := &o.Steps[len(o.Steps)-1].Row
	kept.Notes = []leasehold.Note{{From: kept.Holder, Text: text}}
	kept.Claims = o.Row.Claims
}

// endLease ends the lease now, and keeps an earlier end. The answer still has
// metadata, claims and notes, the row that is kept has none.
func endLease(now Instant, o Outcome, state leasehold.State, kind leasehold.Kind, why string) Outcome {
	before := o.Row.State
	o.Row.State, o.Row.Ends = state, min(now.Clock, o.Row.Ends)
	o.Steps = append(o.Steps, Step{Row: o.Row, Before: before, Kind: kind, Why: why})
	kept := &o.Steps[len(o.Steps)-1].Row
	kept.Metadata, kept.Claims, kept.Notes = nil, nil, nil
	return o
}
