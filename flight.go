package leasehold

import (
	"container/list"
	"context"
	"time"
)

const (
	// mostFlights bounds the renewals under way, and so the goroutines that a
	// store which does not answer can tie up.
	mostFlights = 256
	// patience is how long a renewal may take while others wait for its place.
	patience = time.Second
	// callTimeout bounds a request that has no deadline of its own.
	callTimeout = 10 * time.Second
	// shortestCall is the least time that a request near the safety line gets.
	shortestCall = 50 * time.Millisecond
)

// flight is one renewal under way.
type flight struct {
	sent   time.Duration // before the request was
	cancel context.CancelFunc
	place  *list.Element
	cut    bool // it was told to make room
}

// launch sends renewals for the most urgent leases, as many as have a place.
// When none is free, those that have had their time make room: their leases
// get another turn, and one part of a store that hangs cannot starve the rest.
func (m *Manager) launch(now time.Duration) {
	for m.ready.Len() > 0 && m.flights.Len() < mostFlights {
		h := m.ready.first()
		m.ready.drop(h)
		m.send(h, now)
	}
	if m.ready.Len() == 0 {
		return
	}
	for f := m.oldest(); f != nil && now-f.sent >= patience; f = m.oldest() {
		f.cut = true
		f.cancel()
	}
}

// oldest returns the renewal that has been under way for longest, of those that
// were not yet told to make room, or nil.
func (m *Manager) oldest() *flight {
	for e := m.flights.Front(); e != nil; e = e.Next() {
		if f := e.Value.(*flight); !f.cut {
			return f
		}
	}
	return nil
}

// send starts one renewal. It gets half the time that is left, so that another
// can follow if this one gets no answer.
func (m *Manager) send(h *Held, now time.Duration) {
	limit := callTimeout
	if h.line != never {
		limit = max((h.line-now)/2, min(shortestCall, h.line-now))
	}
	ctx, cancel := context.WithTimeout(h.values, limit)
	f := &flight{sent: now, cancel: cancel}
	f.place = m.flights.PushBack(f)
	h.flight = f
	ask := h.m.renewStore
	if h.phase == phaseSpent {
		ask = h.m.askStatus
	}
	m.background.run(func() {
		l, err := ask(ctx, h)
		cancel()
		m.landed(h, f, l, err)
	})
}

// landed takes the answer in and gives the place to the next.
func (m *Manager) landed(h *Held, f *flight, l Lease, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.flights.Remove(f.place)
	h.flight = nil
	if m.stopped {
		return
	}
	now := m.clock.now()
	h.answered(f.sent, l, err, now)
	m.launch(now)
}
