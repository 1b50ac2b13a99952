package storetest

import (
	"context"
	"time"

	"github.com/leasehold/leasehold"
)

// waiter is a Wait under way.
type waiter struct {
	e       *env
	request leasehold.AcquireRequest
	cancel  context.CancelCauseFunc
	done    chan struct{}
	grant   leasehold.Grant
	err     error
}

// wait starts a wait, and returns when the waiter is in the queue, as far as that
// can be known, or has its answer.
func (e *env) wait(r leasehold.AcquireRequest) *waiter {
	e.Helper()
	if r.Timeout == 0 {
		r.Timeout = leasehold.NoTimeout
	}
	shown := queueName(r)
	before := e.queued(shown)
	w := e.start(r)
	if e.h.Bubble {
		e.waitIdle()
		return w
	}
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		select {
		case <-w.done:
			return w
		case <-time.After(5 * time.Millisecond): // polls a store in another process
		}
		if shown == "" {
			time.Sleep(200 * time.Millisecond) // no name shows when it has arrived
			return w
		}
		if e.queued(shown) > before {
			return w
		}
	}
	e.Fatalf("Wait(%s) by %q does not show in the queue", requested(r), r.Holder)
	return nil
}

// queueName is the name under which a status shows the waiter; empty: there is none.
func queueName(r leasehold.AcquireRequest) string {
	for _, c := range r.Claims {
		if c.Namespace == "" {
			return c.Pattern
		}
	}
	return r.Resource
}

// start starts a wait and returns at once.
func (e *env) start(r leasehold.AcquireRequest) *waiter {
	e.Helper()
	e.learn(r.ID)
	ctx, cancel := context.WithCancelCause(e.Context())
	w := &waiter{e: e, request: r, cancel: cancel, done: make(chan struct{})}
	store := power[leasehold.Waiter](e)
	go func() {
		defer close(w.done)
		w.grant, w.err = store.Wait(ctx, r)
	}()
	e.Cleanup(func() { cancel(nil); <-w.done })
	return w
}

func (e *env) queued(resource string) int {
	e.Helper()
	switch {
	case e.h.Bubble || resource == "":
		return 0
	case e.h.Queued != nil:
		return e.h.Queued(e.store, resource)
	}
	return len(e.status(resource).Waiters)
}

// answered waits for the answer, in a bubble for as long as the store needs.
func (w *waiter) answered() {
	w.e.Helper()
	patience := 20*time.Second + 2*w.e.short
	if w.e.h.Bubble {
		patience = 48 * time.Hour
	}
	select {
	case <-w.done:
	case <-time.After(patience):
		w.e.Fatalf("Wait(%s) by %q has no answer after %v", requested(w.request), w.request.Holder, patience)
	}
}

// granted expects a grant.
func (w *waiter) granted() leasehold.Grant {
	w.e.Helper()
	w.answered()
	if w.err != nil {
		w.e.Fatalf("Wait(%s) by %q = %v, want a grant", requested(w.request), w.request.Holder, w.err)
	}
	w.e.received(w.grant, w.request)
	return w.grant
}

// atOnce expects that the grant is there already.
func (w *waiter) atOnce() leasehold.Grant {
	w.e.Helper()
	if w.e.h.Bubble {
		w.e.waitIdle()
		w.over()
	}
	return w.granted()
}

// failed expects an error.
func (w *waiter) failed() error {
	w.e.Helper()
	w.answered()
	w.e.learn(w.grant.ID)
	if w.err == nil {
		w.e.Fatalf("Wait(%s) by %q = a grant, want an error", requested(w.request), w.request.Holder)
	}
	return w.err
}

// abandon cancels the wait and expects an error.
func (w *waiter) abandon() error {
	w.e.Helper()
	w.cancel(nil)
	return w.failed()
}

// still expects that the waiter has no answer yet.
func (w *waiter) still() {
	w.e.Helper()
	select {
	case <-w.done:
		w.e.Fatalf("Wait(%s) by %q = token %d, %v; want it to wait on", requested(w.request), w.request.Holder, w.grant.Token, w.err)
	default:
	}
}

// over expects that the waiter has its answer.
func (w *waiter) over() {
	w.e.Helper()
	select {
	case <-w.done:
	default:
		w.e.Fatalf("Wait(%s) by %q waits on, want an answer by now", requested(w.request), w.request.Holder)
	}
}

// waited expects the time that a grant reports.
func (w *waiter) waited(want time.Duration) {
	w.e.Helper()
	if got := w.grant.Waited; w.e.h.can(WaitTimes) && (got < want || got > w.e.atMost(want+w.e.tolerance())) {
		w.e.Errorf("Wait(%s) by %q: Waited = %v, want %v", requested(w.request), w.request.Holder, got, want)
	}
}
