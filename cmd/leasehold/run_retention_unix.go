//go:build unix

package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/leasehold/leasehold"
)

// retention renews a lease that the Manager has given up at its safety line,
// until the command is gone: it may take its time, or may not be signalled at
// all because it changed its user. What the store has ended stays ended, and is
// said.
type retention struct {
	*run
	cancel context.CancelFunc
	done   chan struct{}

	mu    sync.Mutex
	alive bool  // the command cannot be stopped
	over  error // the store has ended the lease
}

// The pauses between two attempts grow from the first to the second of these:
// little time may be left.
const (
	firstRetention = 50 * time.Millisecond
	retryRetention = time.Second
)

func (r *run) startRetention() *retention {
	ctx, cancel := context.WithCancel(context.Background())
	t := &retention{run: r, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(t.done)
		select {
		case <-r.held.Context().Done():
			t.renewUntil(ctx)
		case <-ctx.Done():
		}
	}()
	return t
}

// stop is for when nothing runs any more, before the lease is released.
func (t *retention) stop() {
	t.cancel()
	<-t.done
}

// stuck is told that the command cannot be stopped.
func (t *retention) stuck() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.alive = true
	switch {
	case t.over != nil:
		t.warnOver()
	case t.held.Err() == nil:
		t.warn("the lease on %s is held until the command ends", quote(t.resource))
	default:
		t.warn("the lease on %s is renewed until the command ends, as long as the store answers and agrees, so that nobody else is let in", quote(t.resource))
	}
}

// renewUntil renews until the context ends or the store says that the lease has.
func (t *retention) renewUntil(ctx context.Context) {
	pause := firstRetention
	for ctx.Err() == nil {
		ttl, err := t.renewOnce(ctx)
		switch {
		case err == nil:
			pause = firstRetention
			pauseFor(ctx, max(ttl/3, retryRetention/4))
		case leaseEnded(err):
			t.end(err)
			return
		default:
			pauseFor(ctx, pause)
			pause = min(2*pause, retryRetention)
		}
	}
}

func (t *retention) renewOnce(ctx context.Context) (ttl time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*retryRetention)
	defer cancel()
	l, err := t.store.Renew(ctx, leasehold.RenewRequest{
		ID: t.held.ID(), Resource: t.resource, Holder: t.held.Holder(), Token: t.held.Token(),
	})
	return l.TTL, err
}

// leaseEnded reports whether the store has said that the lease is over. One that is
// being broken, or has no renewals left, is not over yet; nor is one whose
// caller is refused.
func leaseEnded(err error) bool {
	switch leasehold.ReasonOf(err) {
	case leasehold.ReasonBreaking, leasehold.ReasonMaxRenewals:
		return false
	case leasehold.ReasonHolderMismatch:
		return true
	}
	return errors.Is(err, leasehold.ErrLost) || errors.Is(err, leasehold.ErrNotFound) || errors.Is(err, leasehold.ErrHeld)
}

func (t *retention) end(why error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = why
	if t.alive {
		t.warnOver()
	}
}

func (t *retention) warnOver() {
	t.warn("the lease on %s is over, and the next holder may run beside the command: %v", quote(t.resource), t.over)
}

// pauseFor returns early when the context ends.
func pauseFor(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
