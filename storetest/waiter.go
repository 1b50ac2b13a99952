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
	before := e.queued(r.Resource)
	w := e.start(r)
	if e.h.Bubble {
		e.waitIdle()
		return w
	}
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); {
		select {
		case <-w.done:
			return w
		case <-time.After(5 * time.Millisecond): // polls a store in another process
		}
		if !e.showsQueue() {
			time.Sleep(200 * time.Millisecond) // nothing shows when it has arrived
			return w
		}
		if e.queued(r.Resource) > before {
			return w
		}
	}
	e.Fatalf("Wait(%q) by %q does not show in the queue", r.Resource, r.Holder)
	return nil
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

// showsQueue reports whether it can be known that a waiter has arrived.
func (e *env) showsQueue() bool { return e.h.can(ShownQueue) || e.h.Queued != nil }

func (e *env) queued(resource string) int {
	e.Helper()
	switch {
	case e.h.Bubble || !e.showsQueue():
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
		w.e.Fatalf("Wait(%q) by %q has no answer after %v", w.request.Resource, w.request.Holder, patience)
	}
}

// granted expects a grant.
func (w *waiter) granted() leasehold.Grant {
	w.e.Helper()
	w.answered()
	if w.err != nil {
		w.e.Fatalf("Wait(%q) by %q = %v, want a grant", w.request.Resource, w.request.Holder, w.err)
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
		w.e.Fatalf("Wait(%q) by %q = a grant, want an error", w.request.Resource, w.request.Holder)
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
		w.e.Fatalf("Wait(%q) by %q = token %d, %v; want it to wait on", w.request.Resource, w.request.Holder, w.grant.Token, w.err)
	default:
	}
}

// over expects that the waiter has its answer.
func (w *waiter) over() {
	w.e.Helper()
	select {
	case <-w.done:
	default:
		w.e.Fatalf("Wait(%q) by %q waits on, want an answer by now", w.request.Resource, w.request.Holder)
	}
}

// waited expects the time that a grant reports.
func (w *waiter) waited(want time.Duration) {
	w.e.Helper()
	if got := w.grant.Waited; w.e.h.can(WaitTimes) && (got < want || got > want+w.e.tolerance()) {
		w.e.Errorf("Wait(%q) by %q: Waited = %v, want %v", w.request.Resource, w.request.Holder, got, want)
	}
}
