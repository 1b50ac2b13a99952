package leasehold

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// mostReleases bounds how many leases Close gives back at the same time.
const mostReleases = 64

// Close ends the Manager. In this order:
//
//   - Nothing new is granted, and waits end.
//   - The contexts of all leases end.
//   - Close waits until the functions of Do and Lead have returned, or until ctx
//     ends. Their leases are renewed meanwhile, and released as they return.
//   - Leases from Acquire and TryAcquire are released: to close the Manager is
//     to say that no work is left under its handles, as Release says it for one.
//     Where work may outlast that, use Do, whose end the Manager can see.
//   - A lease under a function that still runs is not released but left to
//     expire, and no longer renewed.
//   - Every goroutine of the Manager ends. Close gives a store or an observer
//     that hangs a few seconds beyond ctx's end.
//
// The error says what could not be ended or given back. Further calls wait for
// the first and return what it returned.
func (m *Manager) Close(ctx context.Context) error {
	if !m.shut() {
		return m.closedBefore(ctx)
	}
	defer close(m.closed)
	running := m.calls.wait(ctx)
	late, done := graceful(ctx)
	defer done()
	unreleased, why := m.releaseIdle(late)
	m.halt()
	stuck := m.background.wait(late)
	m.closeErr = closeError(ctx, running, unreleased, why, stuck)
	return m.closeErr
}

// closedBefore waits for the Close that came first.
func (m *Manager) closedBefore(ctx context.Context) error {
	select {
	case <-m.closed:
		return m.closeErr
	case <-ctx.Done():
	}
	select {
	case <-m.closed: // what has happened counts for more than what has not
		return m.closeErr
	default:
		return &Error{Reason: ReasonCancelled, Op: "close", Cause: context.Cause(ctx)}
	}
}

// shut closes the door and ends the contexts. It reports whether this is the
// first time.
func (m *Manager) shut() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closing != nil {
		return false
	}
	m.closing = &Error{Reason: ReasonReleased, Op: "hold", Cause: errClosed}
	for _, h := range m.due.items {
		if h.cancel != nil {
			h.cancel(m.closing)
		}
	}
	m.cancel()
	return true
}

// graceful returns a context that ends releaseTimeout after ctx does.
func graceful(ctx context.Context) (context.Context, func()) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var timer *time.Timer
	started := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		timer = time.AfterFunc(releaseTimeout, cancel)
		close(started)
	})
	return late, func() {
		if !stop() {
			<-started
			timer.Stop()
		}
		cancel()
	}
}

// releaseIdle gives back every lease under which no function runs, and returns
// how many it could not, with one error of them. After the first that used its
// whole deadline up it gives in: the store is down, and so it would be for all.
func (m *Manager) releaseIdle(ctx context.Context) (failed int, why error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	work := make(chan *Held)
	var mu sync.Mutex
	var workers sync.WaitGroup
	idle := m.idle()
	for range min(mostReleases, len(idle)) {
		workers.Go(func() {
			for h := range work {
				err := h.release(ctx)
				if err == nil || judge(err) == gone {
					continue
				}
				cancel()
				mu.Lock()
				failed++
				why = firstError(why, err)
				mu.Unlock()
			}
		})
	}
	for _, h := range idle {
		work <- h
	}
	close(work)
	workers.Wait()
	return failed, why
}

func (m *Manager) idle() []*Held {
	m.mu.Lock()
	defer m.mu.Unlock()
	var idle []*Held
	for _, h := range m.due.items {
		if !h.works {
			idle = append(idle, h)
		}
	}
	return idle
}

// halt ends the scheduler and the renewals under way.
func (m *Manager) halt() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stopped = true
	close(m.stop)
	for e := m.flights.Front(); e != nil; e = e.Next() {
		e.Value.(*flight).cancel()
	}
}

func closeError(ctx context.Context, running, unreleased int, why error, stuck int) error {
	switch {
	case running > 0:
		return &Error{Reason: ReasonCancelled, Op: "close", Cause: fmt.Errorf("%d calls still run, and leases under them are left to expire: %w", running, context.Cause(ctx))}
	case unreleased > 0:
		return &Error{Reason: ReasonUnavailable, Op: "close", Cause: fmt.Errorf("%d leases could not be given back and are left to expire: %w", unreleased, why)}
	case stuck > 0:
		return &Error{Reason: ReasonCancelled, Op: "close", Cause: fmt.Errorf("%d requests or observers do not end: %w", stuck, context.Cause(ctx))}
	}
	return nil
}
