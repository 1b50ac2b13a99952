package storetest_test

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// waiter is a wait under way. The naive store has one queue for everything.
type waiter struct {
	request leasehold.AcquireRequest
	since   time.Time
	until   machine.Time // when it no longer reserves
	queued  bool         // it was not granted at once
	answer  chan answer  // of one; closed when the store closes
}

type answer struct {
	leasehold.Grant
	err error
}

// order returns the waiters in the order in which they will be served.
func (n *naive) order() []*waiter {
	sorted := slices.Clone(n.waiters)
	switch n.flaw {
	case ignoresPriority:
		return sorted
	case servesLastFirst:
		slices.Reverse(sorted)
		return sorted
	}
	slices.SortStableFunc(sorted, func(a, b *waiter) int {
		if n.flaw == letsIDsOvertake && a.request.ID.IsZero() != b.request.ID.IsZero() {
			if a.request.ID.IsZero() {
				return 1
			}
			return -1
		}
		return cmp.Compare(b.request.Priority, a.request.Priority)
	})
	return sorted
}

// waiting returns those that wait for a name.
func (n *naive) waiting(resource string) []*waiter {
	return slices.DeleteFunc(n.order(), func(w *waiter) bool { return !claimsName(covers(w.request), resource) })
}

// ahead returns what the waiters before this one keep free; before nil are all.
func (n *naive) ahead(now machine.Instant, w *waiter) (kept []machine.Reservation) {
	for _, other := range n.order() {
		if other == w {
			break
		}
		expired := other.request.Claims != nil && now.Clock >= other.until && n.flaw != reservesForEver
		if !expired && n.flaw != ignoresReservations {
			kept = append(kept, machine.Reservation{Holder: other.request.Holder, Claims: covers(other.request)})
		}
	}
	return kept
}

// serve grants to whom it can, and sets the timer for the others. A waiter whose id
// was used elsewhere in the meantime gets no lease. An answer may free others.
func (n *naive) serve() {
	for n.serveOnce() {
	}
	n.setTimer()
}

func (n *naive) serveOnce() (answered bool) {
	blocked := map[string]bool{}
	for _, w := range n.order() {
		if !slices.Contains(n.waiters, w) || n.flaw == queuesRepeats && blocked[w.request.Resource] {
			continue
		}
		now := n.now()
		o := n.acquire(now, w.request, n.ahead(now, w))
		n.write(now, o)
		if o.Reason == leasehold.ReasonHeld || o.Reason == leasehold.ReasonBreaking {
			blocked[w.request.Resource] = true
			continue
		}
		answered = true
		n.dequeue(w)
		if o.Reason != "" {
			w.answer <- answer{err: n.refusal(now, o)}
			continue
		}
		g := leasehold.Grant{Lease: o.Row.Owned(now), Idempotent: o.Idempotent}
		if w.queued {
			g.Waited = max(0, now.WallTime().Sub(w.since))
		}
		w.answer <- answer{Grant: g}
		n.refuseCycles(now, o.Row.Holder)
	}
	return answered
}

// setTimer wakes the queue when the next lease or reservation ends.
func (n *naive) setTimer() {
	if n.timer != nil {
		n.timer.Stop()
	}
	if n.flaw == sleepsThroughExpiry || len(n.waiters) == 0 {
		return
	}
	now, next := n.now(), machine.Never
	for _, row := range n.rows {
		if row.At(now).State.Locked() {
			next = min(next, row.Ends)
		}
	}
	for _, w := range n.waiters {
		if w.request.Claims != nil && w.until > now.Clock {
			next = min(next, w.until)
		}
	}
	if next == machine.Never {
		return
	}
	n.timer = time.AfterFunc(time.Duration(next-now.Clock), func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if !n.closed {
			n.serve()
		}
	})
}

func (n *naive) dequeue(w *waiter) bool {
	i := slices.Index(n.waiters, w)
	if i >= 0 {
		n.waiters = slices.Delete(n.waiters, i, i+1)
	}
	return i >= 0
}

func (n *naive) enqueue(r leasehold.AcquireRequest) *waiter {
	now, ttl := n.now(), filled(r).TTL
	if ttl == leasehold.Infinite {
		ttl = filled(leasehold.AcquireRequest{}).TTL
	}
	w := &waiter{request: r, since: now.WallTime(), until: now.Clock + machine.Time(ttl), answer: make(chan answer, 1)}
	n.waiters = append(n.waiters, w)
	return w
}

// closeQueue ends all waits.
func (n *naive) closeQueue() {
	for _, w := range n.waiters {
		close(w.answer)
	}
	n.waiters = nil
	if n.timer != nil {
		n.timer.Stop()
	}
}

func (n *naive) Wait(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	if err := n.admit(ctx, r.ValidateAll()); err != nil {
		return leasehold.Grant{}, err
	}
	w, err := n.join(r)
	if err != nil {
		return leasehold.Grant{}, err
	}
	select {
	case a, ok := <-w.answer: // at once, whatever becomes of the context
		return received(a, ok)
	default:
	}
	timeout := r.Timeout
	if timeout == 0 {
		timeout = 30 * time.Second
	}
	var late <-chan time.Time
	if timeout != leasehold.NoTimeout {
		late = time.After(timeout)
	}
	select {
	case a, ok := <-w.answer:
		return received(a, ok)
	case <-late:
		return n.abandon(w, "timeout", &leasehold.Error{Reason: leasehold.ReasonTimeout, Waited: timeout})
	case <-ctx.Done():
		return n.abandon(w, "cancelled", &leasehold.Error{Reason: leasehold.ReasonCancelled, Cause: context.Cause(ctx)})
	}
}

// join queues the request, unless it is answered at once.
func (n *naive) join(r leasehold.AcquireRequest) (*waiter, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil, &leasehold.Error{Reason: leasehold.ReasonUnavailable}
	}
	w := n.enqueue(r)
	n.serve()
	if w.queued = slices.Contains(n.waiters, w); !w.queued || !r.Sequence {
		return w, nil
	}
	if cycle := n.cycle(r.Holder); cycle != nil {
		n.dequeue(w)
		n.serve() // it may have kept something free
		return nil, deadlock(cycle)
	}
	return w, nil
}

func received(a answer, ok bool) (leasehold.Grant, error) {
	if !ok {
		return leasehold.Grant{}, &leasehold.Error{Reason: leasehold.ReasonUnavailable}
	}
	return a.Grant, a.err
}

// abandon dequeues the waiter. A grant in the same moment is released, unless the
// waiter can still receive it.
func (n *naive) abandon(w *waiter, why string, err error) (leasehold.Grant, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.flaw == forgetsTheDead {
		return leasehold.Grant{}, err
	}
	now := n.now()
	if n.dequeue(w) {
		n.recordFailure(now, w.request, why)
		n.serve() // what it kept free
		return leasehold.Grant{}, err
	}
	a, ok := <-w.answer
	if ok && (a.err != nil || why == "timeout" || !w.request.ID.IsZero()) {
		return a.Grant, a.err
	}
	if ok && n.flaw != keepsUnreceived {
		release := leasehold.ReleaseRequest{ID: a.ID, Why: "abandoned"}
		n.write(now, machine.Release(now, release, n.row(a.Resource), machine.Standard))
		n.serve()
	}
	return leasehold.Grant{}, err
}
