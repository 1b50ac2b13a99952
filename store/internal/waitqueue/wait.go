package waitqueue

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/leasehold/leasehold"
)

const (
	// minPause keeps a store that reports a tiny remainder from being tried in a
	// tight loop.
	minPause = 5 * time.Millisecond

	// How often and how soon an unavailable service is tried again: five times
	// over about three seconds.
	maxFailures  = 5
	firstBackoff = 200 * time.Millisecond

	// backgroundFor bounds the release of a grant that nobody received.
	backgroundFor = 10 * time.Second
)

// waitLoop waits for w's turn, tries, and waits again.
func (q *Queues) waitLoop(ctx context.Context, w *waiter) (leasehold.Grant, error) {
	var timeout <-chan time.Time
	if w.r.Timeout != leasehold.NoTimeout {
		timer := time.NewTimer(w.r.Timeout)
		defer timer.Stop()
		timeout = timer.C
	}
	for {
		if err := q.ended(ctx, w, timeout); err != nil {
			return leasehold.Grant{}, err
		}
		try, pause := q.turn(w)
		if try {
			g, err, done := q.tryOnce(ctx, w)
			if done {
				return g, err
			}
			continue
		}
		if err := q.pause(ctx, w, timeout, pause); err != nil {
			return leasehold.Grant{}, err
		}
	}
}

// turn says whether w tries now, and if so notes that.
func (q *Queues) turn(w *waiter) (try bool, pause time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	x := w.queue
	if x.err != nil {
		w.signalOnce()
		return false, 0 // pause returns the error
	}
	if try, pause = x.next(w, time.Now()); try {
		x.trying = true
		w.behind = x.waiters[0] != w
		if !w.behind {
			x.due = false
		}
	}
	return try, pause
}

// ended returns the error of a wait that is over without another try.
func (q *Queues) ended(ctx context.Context, w *waiter, timeout <-chan time.Time) error {
	select {
	case <-ctx.Done():
		return q.fail(ctx, w, leasehold.ReasonCancelled)
	default:
	}
	select {
	case <-q.closed:
		return q.fail(ctx, w, leasehold.ReasonUnavailable)
	case <-w.over:
		return q.fail(ctx, w, leasehold.ReasonSuperseded)
	case <-timeout:
		return q.fail(ctx, w, leasehold.ReasonTimeout)
	default:
		return nil
	}
}

// pause waits for a signal, for that long if it is not zero, or for the end.
func (q *Queues) pause(ctx context.Context, w *waiter, timeout <-chan time.Time, d time.Duration) error {
	var again <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		again = timer.C
	}
	select {
	case <-w.signal:
		return q.queueError(w)
	case <-again:
		return nil
	case <-ctx.Done():
		return q.fail(ctx, w, leasehold.ReasonCancelled)
	case <-q.closed:
		return q.fail(ctx, w, leasehold.ReasonUnavailable)
	case <-w.over:
		return q.fail(ctx, w, leasehold.ReasonSuperseded)
	case <-timeout:
		return q.fail(ctx, w, leasehold.ReasonTimeout)
	}
}

// queueError returns what ended all waits of the queue, if anything did.
func (q *Queues) queueError(w *waiter) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	var e *leasehold.Error
	if !errors.As(w.queue.err, &e) {
		return nil
	}
	mine := *e
	mine.Waited = time.Since(w.since)
	return &mine
}

// tryOnce tries for w. It is done unless the request waits on.
func (q *Queues) tryOnce(ctx context.Context, w *waiter) (g leasehold.Grant, err error, done bool) {
	sent := time.Now()
	try := q.opts.Try
	if w.behind {
		try = q.opts.Repeat
	}
	g, err = try(ctx, w.r)
	if waits := q.tried(w, g, err, ctx.Err() != nil); waits {
		return g, err, false
	}
	if err != nil {
		return leasehold.Grant{}, err, true
	}
	if ctx.Err() != nil {
		return leasehold.Grant{}, q.unreceived(ctx, w, g), true
	}
	g.Waited = 0
	if !w.alone {
		g.Waited = sent.Sub(w.since)
	}
	return g, nil, true
}

// tried notes the result of a try, and reports whether w waits on. Left says that
// its caller has gone, so that a failure says nothing about the service.
func (q *Queues) tried(w *waiter, g leasehold.Grant, err error, left bool) (waits bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	x := w.queue
	x.trying, w.repeats = false, false
	if left && err != nil && transient(leasehold.ReasonOf(err)) {
		x.due, waits = true, true // its loop ends it, the next one tries
	} else if w.behind && isFree(err) {
		x.due, waits = true, true // for the first one to try
	} else {
		waits = x.note(w, g, err, q.opts.Look)
	}
	switch {
	case waits:
		w.alone = false
		x.signalFirst()
	case x.err != nil:
		q.removeAll(w.r.Resource, x)
	default:
		q.remove(w)
	}
	x.setIdle()
	x.signalRepeats()
	return waits
}

// isFree reports whether a repetition found no lease at all.
func isFree(err error) bool {
	var e *leasehold.Error
	return errors.As(err, &e) && e.Reason == leasehold.ReasonHeld && e.Current == nil
}

// signalRepeats lets those try who do so wherever they stand.
func (x *queue) signalRepeats() {
	for _, w := range x.waiters {
		if w.repeats {
			w.signalOnce()
		}
	}
}

// note notes what a try has shown of the resource, and reports whether its
// waiter waits on.
func (x *queue) note(w *waiter, g leasehold.Grant, err error, look time.Duration) (waits bool) {
	now := time.Now()
	x.look = now.Add(jitter(look))
	var e *leasehold.Error
	errors.As(err, &e)
	switch {
	case err == nil:
		x.failures, x.conflict = 0, nil
		x.lasts(now, g.Remaining)
		return false
	case e != nil && (e.Reason == leasehold.ReasonHeld || e.Reason == leasehold.ReasonBreaking):
		x.failures, x.conflict, x.seen = 0, e, now
		x.lasts(now, remaining(e))
		return true
	case e != nil && transient(e.Reason) && !w.alone:
		return x.noteFailure(e, now, look)
	}
	x.due = true // the next one may have more luck
	return false
}

// noteFailure plans the next try of an unavailable service, or ends all waits.
func (x *queue) noteFailure(e *leasehold.Error, now time.Time, look time.Duration) (waits bool) {
	if x.failures++; x.failures >= maxFailures {
		x.err = e
		return false
	}
	backoff := max(jitter(firstBackoff<<(x.failures-1)), min(e.RetryAfter, look))
	x.ends, x.look = time.Time{}, now.Add(backoff)
	return true
}

func transient(r leasehold.Reason) bool {
	return r == leasehold.ReasonUnavailable || r == leasehold.ReasonRateLimited
}

// remaining is how long the lease in the way still has; Infinite: not known, or
// for ever.
func remaining(e *leasehold.Error) time.Duration {
	switch {
	case e.RetryAfter > 0:
		return e.RetryAfter
	case e.Current != nil:
		return e.Current.Remaining
	}
	return leasehold.Infinite
}

// lasts notes that the current lease ends after d.
func (x *queue) lasts(now time.Time, d time.Duration) {
	x.ends = time.Time{}
	if d != leasehold.Infinite {
		x.endsAt(now.Add(max(d, minPause)), false)
	}
}

// removeAll ends all waits of a queue that has an error.
func (q *Queues) removeAll(resource string, x *queue) {
	for _, w := range x.waiters {
		w.signalOnce()
	}
	x.waiters = nil
	x.due = false
	delete(q.queues, resource)
}

// fail takes w out of its queue and returns the error of its wait.
func (q *Queues) fail(ctx context.Context, w *waiter, reason leasehold.Reason) error {
	var cause error
	switch reason {
	case leasehold.ReasonCancelled:
		cause = context.Cause(ctx)
		q.report(ctx, w, "cancelled")
	case leasehold.ReasonTimeout:
		q.report(ctx, w, "timeout")
	case leasehold.ReasonSuperseded: // the wait goes on with the other request
	default:
		cause = errClosed
	}
	q.mu.Lock()
	q.remove(w)
	q.mu.Unlock()
	return q.waitError(w, reason, cause)
}

// unreceived handles a grant that came as its caller left.
func (q *Queues) unreceived(ctx context.Context, w *waiter, g leasehold.Grant) error {
	if !w.r.ID.IsZero() {
		return q.waitError(w, leasehold.ReasonUnknown, context.Cause(ctx))
	}
	q.inBackground(ctx, func(ctx context.Context) {
		_, _ = q.opts.Release(ctx, leasehold.ReleaseRequest{ // else it expires
			ID: g.ID, Resource: g.Resource, Token: g.Token, Why: leasehold.WhyAbandoned,
		})
	})
	return q.waitError(w, leasehold.ReasonCancelled, context.Cause(ctx))
}

func (q *Queues) report(ctx context.Context, w *waiter, why string) {
	if q.opts.Failed == nil {
		return
	}
	waited := time.Since(w.since)
	q.inBackground(ctx, func(ctx context.Context) { q.opts.Failed(ctx, w.r, why, waited) })
}

// inBackground runs f with a context that outlives the caller's. The caller is
// one that Close waits for.
func (q *Queues) inBackground(ctx context.Context, f func(context.Context)) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), backgroundFor)
	q.background.Go(func() {
		defer cancel()
		f(ctx)
	})
}

// waitError is the error of a wait that ended without a grant. It says who holds
// the resource as far as that is known.
func (q *Queues) waitError(w *waiter, reason leasehold.Reason, cause error) *leasehold.Error {
	now := time.Now()
	err := &leasehold.Error{
		Reason: reason, Op: "acquire", Resource: w.r.Resource, Store: q.opts.Store,
		Waited: now.Sub(w.since), Cause: cause,
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	err.Waiting = q.waiting(w.r.Resource)
	if w.queue != nil && reason != leasehold.ReasonUnavailable {
		w.queue.showHolder(err, now)
	}
	return err
}

// showHolder copies the last known holder, unless its lease has ended by now.
func (x *queue) showHolder(err *leasehold.Error, now time.Time) {
	if x.conflict == nil || x.conflict.Current == nil {
		return
	}
	current := *x.conflict.Current
	if current.Remaining != leasehold.Infinite {
		if current.Remaining -= now.Sub(x.seen); current.Remaining <= 0 {
			return
		}
		err.RetryAfter = current.Remaining
	}
	err.Current = &current
}

// jitter returns d, longer or shorter by up to a fifth.
func jitter(d time.Duration) time.Duration {
	return d - d/5 + rand.N(2*d/5+1)
}
