package machine

import (
	"time"

	"github.com/leasehold/leasehold"
)

// Break ends a live lease without its id: at once, or when the period ends. It
// never lengthens anything.
func Break(now Instant, r leasehold.BreakRequest, row Row, p Policy) Outcome {
	o := begin(now, row, leasehold.ID{})
	switch o.Row.State {
	case leasehold.StateActive, leasehold.StateBreaking:
		return o.breakBy(now, breakEnd(now, r.Period, o.Row, p), r.Why)
	case leasehold.StateExpired:
		if p.BreakEnded {
			return o.end(now, leasehold.StateBroken, leasehold.KindBroken, r.Why)
		}
	case leasehold.StateBroken:
		if p.BreakEnded {
			return o
		}
	}
	return o.no(ended(o.Row.State))
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

func (o Outcome) breakBy(now Instant, end Time, why string) Outcome {
	if end <= now.Clock {
		return o.end(now, leasehold.StateBroken, leasehold.KindBroken, why)
	}
	if o.Row.State == leasehold.StateBreaking && end == o.Row.Ends {
		return o // as it was
	}
	next := o.Row
	next.State = leasehold.StateBreaking
	next.Ends = end
	return o.to(next, leasehold.KindBreaking, why)
}
