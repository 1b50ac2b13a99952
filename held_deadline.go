package leasehold

import "time"

// count counts the ttl anew after a grant or a renewal. Since is the moment
// before the request was sent, plus what the store says it waited: the store
// cannot have begun to count earlier, so what is counted here ends first.
func (h *Held) count(since time.Duration, l Lease) {
	h.since, h.failures, h.lastErr = since, 0, nil
	h.renewals, h.expiresAt = l.Renewals, l.ExpiresAt
	h.line, h.next = never, never
	length := lengthOf(l)
	if length != Infinite {
		h.line = since + min(h.m.lineOf(length), length-drift(length))
	}
	if h.renew {
		h.next = since + h.m.intervalOf(length)
	}
}

// reschedule puts the lease where the scheduler will look at it in time, after
// its plan has changed.
func (h *Held) reschedule() {
	h.m.ready.drop(h)
	h.due = min(h.line, h.next)
	h.m.due.put(h)
	h.m.nudge(h.due)
}

// lengthOf returns how long the lease lasts from the grant or renewal on. A
// store that promises less than the ttl is taken at its word.
func lengthOf(l Lease) time.Duration {
	if l.TTL != Infinite && l.Remaining > 0 {
		return min(l.TTL, l.Remaining)
	}
	return l.TTL
}

// drift is what two clocks may differ by over a ttl: one percent and 2 ms.
func drift(ttl time.Duration) time.Duration {
	return ttl/100 + 2*time.Millisecond
}

// lineOf returns how long after the last success a lease of this length is
// declared lost.
func (m *Manager) lineOf(ttl time.Duration) time.Duration {
	return time.Duration(float64(ttl) * m.o.SafetyThreshold)
}

// intervalOf returns how long after the last success it is renewed.
func (m *Manager) intervalOf(ttl time.Duration) time.Duration {
	return m.scale(m.o.RenewInterval, ttl, func(o *Options) time.Duration { return o.defaultInterval() })
}

// retryOf returns the pause before the first retry of its renewal.
func (m *Manager) retryOf(ttl time.Duration) time.Duration {
	return m.scale(m.o.RenewRetryInterval, ttl, func(o *Options) time.Duration { return o.defaultRetry() })
}

// scale fits one of the options, which were given for leases of the usual
// length, to a lease of another length: in proportion, or by the defaults where
// one of the two is infinite.
func (m *Manager) scale(d, ttl time.Duration, byDefault func(*Options) time.Duration) time.Duration {
	switch {
	case ttl == m.o.TTL:
		return d
	case ttl == Infinite || m.o.TTL == Infinite:
		o := m.o
		o.TTL, o.RenewInterval = ttl, 0
		o.RenewInterval = o.defaultInterval()
		return byDefault(&o)
	}
	return time.Duration(float64(d) * (float64(ttl) / float64(m.o.TTL)))
}

// settle declares the lease lost if its time is up. It needs no store, so
// nothing that hangs can keep it from happening.
func (h *Held) settle(now time.Duration) {
	if h.phase == phaseOver || now < h.line {
		return
	}
	e := &Error{Reason: ReasonExpired, Op: "hold", Resource: h.resource}
	if h.lastErr != nil {
		e.Cause = h.lastErr
	}
	switch h.phase {
	case phaseBreaking:
		e.Reason = ReasonBroken
	case phaseSpent:
		e.Reason = ReasonMaxRenewals
	}
	h.lose(e, now)
}

// lose ends the lease against its holder's will.
func (h *Held) lose(why *Error, now time.Duration) {
	h.conclude(why)
	info := h.info()
	h.m.observer.tell(Lost{EventInfo: info, Reason: why.Reason, LastSuccess: info.Time.Add(h.since - now)})
}
