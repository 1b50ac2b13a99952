package leasehold

import "time"

// Remaining returns how long the lease is still held without another renewal:
// to its safety line, at which the context ends, and to its end, before which
// the store cannot have granted the resource to anybody else. What lies between
// the two is the time in which work must stop. Both are Infinite for a lease
// without an end, and zero once the store has said that the lease is over or
// the lease was released; a lease that ran out has no line left but may have
// some of its time.
//
// It is for those who hand the deadline on, to another process, say. They must
// read their own clock before they call, never after: else the time in between
// is counted twice.
func (h *Held) Remaining() (line, end time.Duration) {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	now := h.m.clock.now()
	h.settle(now)
	released := h.end != nil && h.end.Reason == ReasonReleased
	switch {
	case h.gone || released:
		return 0, 0
	case h.line == never:
		return Infinite, Infinite
	}
	line = max(h.line-now, 0)
	return line, max(h.line+h.margin()-now, line)
}

// margin is the time between the safety line and the end of the lease, rather
// too short than too long.
func (h *Held) margin() time.Duration {
	length := h.length()
	if h.phase == phaseBreaking || h.end != nil && h.end.Reason == ReasonBroken {
		length = min(length, h.leftOfPeriod()) // the line was drawn anew, for the rest of it
	}
	return max(length-drift(length)-h.m.lineOf(length), 0)
}

// leftOfPeriod is what was left of the break period by the store's answer, zero
// where that is not known any more.
func (h *Held) leftOfPeriod() time.Duration {
	e := h.lastErr
	switch {
	case e == nil || e.Reason != ReasonBreaking:
		return 0
	case e.Remaining <= 0 && e.Current != nil:
		return max(e.Current.Remaining, 0)
	}
	return max(e.Remaining, 0)
}
