package leasehold

import (
	"context"
	"time"
)

// answered applies the answer to a renewal. One that comes after the line does
// not bring the lease back.
func (h *Held) answered(sent time.Duration, l Lease, err error, now time.Duration) {
	h.settle(now)
	if h.phase == phaseOver {
		return
	}
	if err == nil && l.Token != 0 && l.Token != h.token {
		// The store has granted it anew: in between it was free.
		err = &Error{Reason: ReasonExpired, Op: "renew", Resource: h.resource}
	}
	if err == nil {
		if h.phase == phaseHeld || h.line == never { // else it was sent before the break
			h.renewed(sent, l, now)
		}
		return
	}
	switch judge(err) {
	case transient:
		h.failed(sent, err, now)
	case gone:
		h.note(err)
		h.tellFailed(false)
		h.gone = true
		h.lose(lossOf(h, err), now)
	case breaking:
		h.broken(sent, err, now)
	case spent:
		h.exhausted(err, now)
	}
}

// broken notes that the lease is being broken: the work may go on until a
// margin before the end of the period.
func (h *Held) broken(sent time.Duration, err error, now time.Duration) {
	h.note(err)
	left := h.lastErr.Remaining
	if left <= 0 && h.lastErr.Current != nil {
		left = h.lastErr.Current.Remaining
	}
	left = max(left, 0)
	first := h.phase != phaseBreaking
	h.phase, h.next = phaseBreaking, never
	h.line = min(h.line, sent+h.m.lineOf(left))
	if first {
		h.m.observer.tell(Breaking{EventInfo: h.info(), Remaining: left})
	}
	h.reschedule()
	h.settle(now)
}

// exhausted notes that the store will not renew the lease again. It is held to
// its line; an infinite one has none, and is verified by its status from now on.
func (h *Held) exhausted(err error, now time.Duration) {
	h.note(err)
	switch h.phase {
	case phaseBreaking:
		return
	case phaseHeld:
		h.tellFailed(false)
	}
	h.phase, h.next = phaseSpent, never
	if h.line == never && h.renew {
		h.next = now + h.m.intervalOf(Infinite)
	}
	h.reschedule()
}

// renewStore renews the lease.
func (m *Manager) renewStore(ctx context.Context, h *Held) (Lease, error) {
	return m.store.Renew(ctx, RenewRequest{ID: h.id, Resource: h.resource, Holder: h.holder, Token: h.token})
}

// askStatus looks whether an infinite lease without renewals is still there.
func (m *Manager) askStatus(ctx context.Context, h *Held) (Lease, error) {
	s, err := m.store.Status(ctx, h.resource)
	switch {
	case err != nil:
		return Lease{}, err
	case !s.Check(h.token):
		return Lease{}, &Error{Reason: ReasonNotFound, Op: "status", Resource: h.resource}
	case s.Lease.State == StateBreaking:
		return Lease{}, &Error{Reason: ReasonBreaking, Op: "status", Resource: h.resource, Remaining: s.Lease.Remaining}
	}
	return *s.Lease, nil
}

// Renew renews the lease now, whether or not the Manager does. It returns nil
// when the store has confirmed it. An error that does not match ErrLost leaves
// the lease held.
func (h *Held) Renew(ctx context.Context) error {
	h.m.mu.Lock()
	sent := h.m.clock.now()
	h.settle(sent)
	end, left := h.end, min(h.line-sent, callTimeout)
	h.m.mu.Unlock()
	if end != nil {
		return end
	}
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	l, err := h.m.renewStore(ctx, h)
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	h.answered(sent, l, err, h.m.clock.now())
	if h.end != nil {
		return h.end
	}
	if err != nil {
		return asError("renew", h.resource, err)
	}
	return nil
}
