package leasehold

import (
	"math/rand/v2"
	"time"
)

// One scheduler looks after all leases of a Manager: a heap of deadlines and
// one goroutine, which never calls the store. Renewals fly in goroutines of
// their own, a bounded number at a time; declaring a loss needs none of them.

const (
	// wakeEvery bounds how late the scheduler notices that the machine slept:
	// its timer stood still as well.
	wakeEvery = 500 * time.Millisecond
	// oneGo bounds how long the lock is held when very many leases are due.
	oneGo = 1024
)

// schedule runs until the Manager stops.
func (m *Manager) schedule() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		if rest := m.advance(); rest == never {
			timer.Stop()
		} else {
			timer.Reset(rest)
		}
		select {
		case <-timer.C:
		case <-m.wake:
		case <-m.stop:
			return
		}
	}
}

// advance does what is due and returns how long the scheduler may rest.
func (m *Manager) advance() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock.now()
	for range oneGo {
		h := m.due.first()
		if h == nil || h.due > now {
			break
		}
		h.attend(now)
	}
	m.launch(now)
	rest := m.rest(now)
	m.awake = never
	if rest != never {
		m.awake = now + rest
	}
	return rest
}

// attend does for one lease what is due: it ends, or it has to be renewed.
func (h *Held) attend(now time.Duration) {
	h.settle(now)
	if h.phase == phaseOver {
		return
	}
	h.next = never
	if h.flight != nil { // an earlier one is still under way
		h.next = now + patience
	}
	h.reschedule()
	if h.flight == nil {
		h.m.ready.put(h)
	}
}

// rest returns how long nothing will be due.
func (m *Manager) rest(now time.Duration) time.Duration {
	h := m.due.first()
	if h == nil {
		return never
	}
	rest := min(max(h.due-now, 0), wakeEvery)
	if f := m.oldest(); f != nil && m.ready.Len() > 0 {
		rest = min(rest, max(f.sent+patience-now, 0))
	}
	return rest
}

// nudge wakes the scheduler if it would sleep past this instant.
func (m *Manager) nudge(at time.Duration) {
	if at >= m.awake {
		return
	}
	m.awake = at
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// renewed notes a success.
func (h *Held) renewed(sent time.Duration, l Lease, now time.Duration) {
	if sent >= h.since { // of two renewals the later counts, whichever lands first
		h.count(sent, l)
		h.reschedule()
	}
	h.m.observer.tell(Renewed{EventInfo: h.info(), NewExpiry: l.ExpiresAt, Took: now - sent})
}

// failed notes a failure that says nothing about the lease, and plans the next
// attempt. One that was sent before the last success is no news.
func (h *Held) failed(sent time.Duration, err error, now time.Duration) {
	if sent < h.since {
		return
	}
	h.note(err)
	if h.renew {
		h.next = now + h.retryPause(now)
		h.reschedule()
	}
	h.tellFailed(h.renew && h.next < h.line)
}

// note remembers a failure.
func (h *Held) note(err error) {
	h.failures++
	h.lastErr = asError("renew", h.resource, err)
}

// tellFailed tells of the failure noted last.
func (h *Held) tellFailed(again bool) {
	h.m.observer.tell(RenewalFailed{EventInfo: h.info(), Attempt: h.failures, Err: h.lastErr, WillRetry: again})
}

// retryPause doubles with each quick retry and then stays. A store that asks
// for patience gets it. But near the line pauses get shorter again, each half
// of what is left: an outage that ends just before the line costs nothing.
func (h *Held) retryPause(now time.Duration) time.Duration {
	doublings := min(h.failures, h.m.o.RenewMaxRetries) - 1
	pause := jitter(h.m.retryOf(h.length()) << max(doublings, 0))
	return min(max(pause, h.lastErr.RetryAfter), max((h.line-now)/2, shortestCall))
}

// length is the ttl that the safety line was drawn for, near enough for pauses.
func (h *Held) length() time.Duration {
	if h.line == never {
		return Infinite
	}
	return time.Duration(float64(h.line-h.since) / h.m.o.SafetyThreshold)
}

// jitter returns a random duration between half of d and d: never longer, so
// that plans which fit still fit.
func jitter(d time.Duration) time.Duration {
	return d/2 + rand.N(d/2+1)
}
