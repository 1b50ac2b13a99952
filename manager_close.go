package leasehold

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// maxReleases bounds how many leases Close releases at the same time.
const maxReleases = 64

// Close ends the Manager. In this order:
//
//   - New calls are refused, and waits end.
//   - The contexts of all leases end.
//   - Close waits until the functions of Do and Lead have returned, or until ctx
//     ends. Their leases are renewed meanwhile, and released as they return.
//   - Leases from Acquire and TryAcquire are released: closing the Manager says
//     that no work is left under them, as Release does for one. Where work may
//     outlast that, use Do, whose end the Manager sees.
//   - A lease under a function that still runs is neither released nor renewed;
//     it expires.
//   - Every goroutine of the Manager ends. Close gives a store or an observer
//     that hangs a few seconds beyond ctx's end.
//
// The error says what did not end or could not be released. Further calls wait
// for the first and return what it returned.
func (m *Manager) Close(ctx context.Context) error {
	if !m.startClose() {
		return m.waitClosed(ctx)
	}
	defer close(m.closed)
	running := m.calls.wait(ctx)
	late, cancel := withGrace(ctx)
	defer cancel()
	unreleased, why := m.releaseIdle(late)
	m.renewer.shutdown()
	stuck := m.background.wait(late)
	m.closeErr = closeError(ctx, running, unreleased, why, stuck)
	return m.closeErr
}

// waitClosed waits for the Close that came first.
func (m *Manager) waitClosed(ctx context.Context) error {
	select {
	case <-m.closed:
		return m.closeErr
	case <-ctx.Done():
	}
	select {
	case <-m.closed: // both happened: the answer of Close counts
		return m.closeErr
	default:
		return &Error{Reason: ReasonCancelled, Op: "close", Cause: context.Cause(ctx)}
	}
}

// startClose refuses new calls and ends the contexts. It reports whether this is
// the first Close.
func (m *Manager) startClose() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closing != nil {
		return false
	}
	m.closing = &Error{Reason: ReasonReleased, Op: "hold", Cause: errClosed}
	for _, h := range m.held.items {
		if h.cancel != nil {
			h.cancel(m.closing)
		}
	}
	m.cancel()
	return true
}

// withGrace returns a context that ends releaseTimeout after ctx does.
func withGrace(ctx context.Context) (context.Context, func()) {
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

// releaseIdle releases every lease under which no function runs, and returns how
// many it could not, with one of the errors. The first failure ends the others:
// a store that was down for a whole deadline is down for all.
func (m *Manager) releaseIdle(ctx context.Context) (failed int, why error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	work := make(chan *Held)
	var mu sync.Mutex
	var workers sync.WaitGroup
	idle := m.idleLeases()
	for range min(maxReleases, len(idle)) {
		workers.Go(func() {
			for h := range work {
				err := h.release(ctx, "")
				if err == nil || classify(err) == gone {
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

func (m *Manager) idleLeases() []*Held {
	m.mu.Lock()
	defer m.mu.Unlock()
	var idle []*Held
	for _, h := range m.held.items {
		if !h.runsFunc {
			idle = append(idle, h)
		}
	}
	return idle
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

// waitGroup counts goroutines. Unlike a sync.WaitGroup its wait can be given up
// without leaving a waiting goroutine behind.
type waitGroup struct {
	mu    sync.Mutex
	n     int
	empty chan struct{} // closed when n drops to zero; nil while nobody waits
}

func (g *waitGroup) add() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.n++
}

func (g *waitGroup) done() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.n--
	if g.n == 0 && g.empty != nil {
		close(g.empty)
		g.empty = nil
	}
}

// start runs f in a goroutine that the group counts.
func (g *waitGroup) start(f func()) {
	g.add()
	go func() {
		defer g.done()
		f()
	}()
}

// wait returns zero when all are done, or how many are not when the context
// ends.
func (g *waitGroup) wait(ctx context.Context) int {
	g.mu.Lock()
	if g.n == 0 {
		g.mu.Unlock()
		return 0
	}
	if g.empty == nil {
		g.empty = make(chan struct{})
	}
	empty := g.empty
	g.mu.Unlock()
	select {
	case <-empty:
		return 0
	case <-ctx.Done():
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.n
	}
}
