package machine

import (
	"time"

	"github.com/leasehold/leasehold"
)

// Break ends a live lease without its id: at once, or when the period ends. It
// never lengthens anything.
func Break(now Instant, r leasehold.BreakRequest, row Row, p Policy) Outcome {
	o := newOutcome(now, row, leasehold.ID{})
	switch o.Row.State {
	case leasehold.StateActive, leasehold.StateBreaking:
		return breakAt(now, o, breakEnd(now, r.Period, o.Row, p), r.Why)
	case leasehold.StateExpired:
		if p.BreakEnded {
			return endLease(now, o, leasehold.StateBroken, leasehold.KindBroken, r.Why)
		}
	case leasehold.StateBroken:
		if p.BreakEnded {
			return o
		}
	}
	return o.refuse(endReason(o.Row.State))
}

// breakEnd is when a broken lease ends.
func breakEnd(now Instant, period *time.Duration, row Row, p Policy) Time {
	switch {
	case period != nil:
		return min(now.after(*period), row.Ends)
	case p.BreakDrains && row.Ends != Never:
		return row.Ends
	}
	return now.Clock
}

// breakAt lets the lease end at that time, or now if that is past.
func breakAt(now Instant, o Outcome, end Time, why string) Outcome {
	if end <= now.Clock {
		return endLease(now, o, leasehold.StateBroken, leasehold.KindBroken, why)
	}
	if o.Row.State == leasehold.StateBreaking && end == o.Row.Ends {
		return o // as it was
	}
	next := o.Row
	next.State = leasehold.StateBreaking
	next.Ends = end
	return o.step(next, leasehold.KindBreaking, why)
}
