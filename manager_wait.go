package leasehold

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

const (
	// maxAttempts ends a wait that nothing else would.
	maxAttempts = 10_000
	// maxQueueWait is how long one request waits in a store's queue. The next
	// one keeps the place, so nothing is lost, and a grant whose answer was lost
	// is noticed after that time. It is a little shorter than the minute after
	// which many proxies end a silent request.
	maxQueueWait = 50 * time.Second
	// answerGrace is what a request gets beyond the wait for its answer to arrive.
	answerGrace = 2 * time.Second
	// firstFailurePause is the first pause after the store failed.
	firstFailurePause = 100 * time.Millisecond
)

// waitLoop is one wait for a lease.
type waitLoop struct {
	*acquisition
	queue        Waiter        // nil where the store has none
	started      time.Duration // on the Manager's clock, like until
	until        time.Duration // never, if there is no timeout
	attempts     int           // requests so far
	maxAttempts  int           // zero: no limit
	heldPause    time.Duration // the next one after a refusal
	failurePause time.Duration // the next one after a failure
}

// wait sends requests until one is granted or another cannot help.
func (a *acquisition) wait(ctx context.Context) (*Held, error) {
	w := newWaitLoop(ctx, a)
	for {
		sent := a.m.clock.now()
		h, err := w.attempt(ctx, sent)
		now := a.m.clock.now()
		switch {
		case err == nil:
			return h, nil
		case ctx.Err() != nil:
			return nil, a.cancelled(ctx, err, now-w.started)
		case !w.prepareRetry(err):
			return nil, err
		case now >= w.until || w.attempts == w.maxAttempts:
			return nil, w.timeoutError(err, now)
		}
		if !sleep(ctx, min(w.pause(err, now-sent), w.until-now)) {
			return nil, a.cancelled(ctx, err, a.m.clock.now()-w.started)
		}
	}
}

func newWaitLoop(ctx context.Context, a *acquisition) *waitLoop {
	now := a.m.clock.now()
	w := &waitLoop{acquisition: a, started: now, until: never, heldPause: a.m.options.AcquireRetryInterval, failurePause: firstFailurePause}
	w.queue, _ = a.m.store.(Waiter)
	if a.timeout > 0 {
		w.until = now + a.timeout
	}
	if _, ends := ctx.Deadline(); !ends && w.until == never {
		w.maxAttempts = maxAttempts
	}
	return w
}

// attempt makes one request, in the store's queue if it can. The last one, when
// time is up, does not queue.
func (w *waitLoop) attempt(ctx context.Context, now time.Duration) (*Held, error) {
	w.attempts++
	left := w.until - now
	if w.queue == nil || left < time.Millisecond {
		return w.send(ctx, w.m.store.Acquire, min(callTimeout, max(left, 0))+answerGrace)
	}
	w.req.Timeout = min(left, maxQueueWait)
	return w.send(ctx, w.queue.Wait, w.req.Timeout+answerGrace)
}

// prepareRetry reports whether another request can help, and does what makes one
// help: go without the queue, or propose another id.
func (w *waitLoop) prepareRetry(err error) bool {
	reason := ReasonOf(err)
	switch reason.Sentinel() {
	case ErrUnsupported:
		hadQueue := w.queue != nil
		w.queue = nil
		return hadQueue
	case ErrInvalid, ErrForbidden:
		return false
	case ErrTimeout:
		return reason != ReasonSuperseded
	case ErrLost, ErrNotFound:
		return w.replaceID()
	}
	switch reason {
	case ReasonIDInUse:
		return w.replaceID()
	case ReasonDeadlock:
		return false
	}
	return true
}

// replaceID proposes another id after the last was used up. It cannot if the id
// is the caller's.
func (w *waitLoop) replaceID() bool {
	if !w.madeID {
		return false
	}
	w.startRelease()
	w.req.ID, w.name = NewID(), w.req.Resource
	return true
}

// pause returns how long to wait before the next request. One that waited in the
// queue is followed by the next at once, because the place is kept.
func (w *waitLoop) pause(err error, lasted time.Duration) time.Duration {
	var e *Error
	errors.As(err, &e)
	switch e.Reason.Sentinel() {
	case ErrUnsupported:
		return 0 // the next request does not use the queue
	case ErrTimeout:
		if lasted >= w.req.Timeout/2 {
			return 0
		}
	case ErrHeld:
		pause := jitter(w.heldPause)
		w.heldPause = min(2*w.heldPause, 4*w.m.options.AcquireRetryInterval)
		return untilFree(pause, e)
	}
	pause := max(jitter(w.failurePause), min(e.RetryAfter, w.m.options.AcquireRetryInterval*4))
	w.failurePause = min(2*w.failurePause, w.m.options.AcquireRetryInterval)
	return pause
}

// untilFree shortens a pause that lasts longer than the lease in the way. The
// random part spreads the waiters for the same moment.
func untilFree(pause time.Duration, e *Error) time.Duration {
	ends := []time.Duration{e.RetryAfter, e.Remaining}
	if e.Current != nil {
		ends = append(ends, e.Current.Remaining)
	}
	for _, left := range ends {
		if left > 0 {
			pause = min(pause, left+5*time.Millisecond+rand.N(100*time.Millisecond))
		}
	}
	return pause
}

// timeoutError is the error of a wait that ended without a grant.
func (w *waitLoop) timeoutError(last error, now time.Duration) error {
	e := &Error{Reason: ReasonTimeout, Op: "acquire", Resource: w.req.Resource, Waited: now - w.started}
	if !errors.Is(last, ErrTimeout) {
		e.Cause = last
	}
	e.copyHolder(last)
	return e
}

// sleep pauses and reports whether the context still lives.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// jitter returns a random duration between half of d and d: never longer, so
// that plans which fit still fit.
func jitter(d time.Duration) time.Duration {
	return d/2 + rand.N(d/2+1)
}
