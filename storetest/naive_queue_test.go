package storetest_test

import (
	"context"
	"slices"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// queue is the naive store's queue of one resource, in the order of arrival.
type queue struct {
	waiters []*waiter
	timer   *time.Timer // fires when the lease in the way ends
}

type waiter struct {
	request leasehold.AcquireRequest
	since   time.Time
	arrived int
	answer  chan answer // of one; closed when the store closes
}

type answer struct {
	leasehold.Grant
	err error
}

// waiting returns the waiters in the order in which they will be served.
func (n *naive) waiting(resource string) []*waiter {
	q := n.queues[resource]
	if q == nil {
		return nil
	}
	sorted := slices.Clone(q.waiters)
	slices.SortStableFunc(sorted, func(a, b *waiter) int {
		if n.flaw == servesLastFirst {
			return b.arrived - a.arrived
		}
		if n.flaw == ignoresPriority {
			return a.arrived - b.arrived
		}
		if n.flaw == letsIDsOvertake && a.request.ID.IsZero() != b.request.ID.IsZero() {
			if a.request.ID.IsZero() {
				return 1
			}
			return -1
		}
		return b.request.Priority - a.request.Priority
	})
	return sorted
}

// grantNext grants to the next waiter if it can, and otherwise sets the timer. A
// waiter whose id was used elsewhere in the meantime gets no lease.
func (n *naive) grantNext(resource string) {
	for _, w := range n.waiting(resource) {
		now := n.now()
		o := n.acquire(now, w.request)
		n.write(now, o)
		if o.Reason == leasehold.ReasonHeld || o.Reason == leasehold.ReasonBreaking {
			n.setTimer(resource, o.Row.Remaining(now))
			return
		}
		n.dequeue(w)
		if o.Reason != "" {
			w.answer <- answer{err: n.refusal(now, o)}
			continue
		}
		waited := now.WallTime().Sub(w.since)
		w.answer <- answer{Grant: leasehold.Grant{Lease: o.Row.Owned(now), Waited: max(0, waited)}}
	}
}

func (n *naive) setTimer(resource string, in time.Duration) {
	q := n.queues[resource]
	if q.timer != nil {
		q.timer.Stop()
	}
	if in == leasehold.Infinite || n.flaw == sleepsThroughExpiry {
		return
	}
	q.timer = time.AfterFunc(in, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if !n.closed {
			n.grantNext(resource)
		}
	})
}

func (n *naive) dequeue(w *waiter) bool {
	q := n.queues[w.request.Resource]
	i := slices.Index(q.waiters, w)
	if i >= 0 {
		q.waiters = slices.Delete(q.waiters, i, i+1)
	}
	return i >= 0
}

func (n *naive) enqueue(r leasehold.AcquireRequest) *waiter {
	q := n.queues[r.Resource]
	if q == nil {
		q = &queue{}
		n.queues[r.Resource] = q
	}
	n.arrived++
	w := &waiter{request: r, since: n.now().WallTime(), arrived: n.arrived, answer: make(chan answer, 1)}
	q.waiters = append(q.waiters, w)
	return w
}

// closeQueues ends all waits.
func (n *naive) closeQueues() {
	for _, q := range n.queues {
		for _, w := range q.waiters {
			close(w.answer)
		}
		q.waiters = nil
		if q.timer != nil {
			q.timer.Stop()
		}
	}
}

func (n *naive) Wait(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	if n.flaw == queuesRepeats && n.hasWaiters(r.Resource) {
		return n.queueUp(ctx, r)
	}
	g, err := n.Acquire(ctx, r)
	if reason := leasehold.ReasonOf(err); reason != leasehold.ReasonHeld && reason != leasehold.ReasonBreaking {
		return g, err
	}
	return n.queueUp(ctx, r)
}

// hasWaiters reports whether somebody waits.
func (n *naive) hasWaiters(resource string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.waiting(resource)) > 0
}

func (n *naive) queueUp(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	n.mu.Lock()
	w := n.enqueue(r)
	n.grantNext(r.Resource)
	n.mu.Unlock()
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
		if !ok {
			return leasehold.Grant{}, &leasehold.Error{Reason: leasehold.ReasonUnavailable}
		}
		return a.Grant, a.err
	case <-late:
		return n.abandon(w, "timeout", &leasehold.Error{Reason: leasehold.ReasonTimeout, Waited: timeout})
	case <-ctx.Done():
		return n.abandon(w, "cancelled", &leasehold.Error{Reason: leasehold.ReasonCancelled, Cause: context.Cause(ctx)})
	}
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
		n.record(now, leasehold.Record{Kind: leasehold.KindFailed, Resource: w.request.Resource, Holder: w.request.Holder, Why: why})
		return leasehold.Grant{}, err
	}
	a, ok := <-w.answer
	if ok && (a.err != nil || why == "timeout" || !w.request.ID.IsZero()) {
		return a.Grant, a.err
	}
	if ok && n.flaw != keepsUnreceived {
		release := leasehold.ReleaseRequest{ID: a.ID, Why: "abandoned"}
		n.write(now, machine.Release(now, release, n.row(a.Resource), machine.Standard))
		n.grantNext(a.Resource)
	}
	return leasehold.Grant{}, err
}
