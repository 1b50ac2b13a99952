//go:build unix

package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/sleep"
)

// lateRenewal renews a lease that the Manager has given up at its safety line,
// until the command is gone: it may end slowly, or may not be signalled at all
// because it changed its user. A lease that the store has ended stays ended; then
// lateRenewal warns.
type lateRenewal struct {
	*run
	cancel context.CancelFunc
	done   chan struct{}

	mu          sync.Mutex
	unstoppable bool  // the command cannot be stopped
	ended       error // why the store has ended the lease
}

// The pauses between attempts grow from the first to the second of these: little
// time may be left.
const (
	firstPause   = 50 * time.Millisecond
	longestPause = time.Second
)

func (r *run) startLateRenewal() *lateRenewal {
	ctx, cancel := context.WithCancel(context.Background())
	l := &lateRenewal{run: r, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(l.done)
		select {
		case <-r.held.Context().Done():
			l.renewUntil(ctx)
		case <-ctx.Done():
		}
	}()
	return l
}

// stop comes after the command's end and before the release.
func (l *lateRenewal) stop() {
	l.cancel()
	<-l.done
}

// stuck is called when the command cannot be stopped.
func (l *lateRenewal) stuck() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unstoppable = true
	switch {
	case l.ended != nil:
		l.warnEnded()
	case l.held.Err() == nil:
		l.warn("the lease on %s is held until the command ends", quote(l.resource))
	default:
		l.warn("the lease on %s is renewed until the command ends, as long as the store answers and agrees, so that nobody else is let in", quote(l.resource))
	}
}

// renewUntil renews until ctx ends, or the lease does.
func (l *lateRenewal) renewUntil(ctx context.Context) {
	pause := firstPause
	for ctx.Err() == nil {
		ttl, err := l.renewOnce(ctx)
		switch {
		case err == nil:
			pause = firstPause
			sleep.For(ctx, max(ttl/3, longestPause/4))
		case leaseEnded(err):
			l.end(err)
			return
		default:
			sleep.For(ctx, pause)
			pause = min(2*pause, longestPause)
		}
	}
}

func (l *lateRenewal) renewOnce(ctx context.Context) (ttl time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*longestPause)
	defer cancel()
	renewed, err := l.store.Renew(ctx, leasehold.RenewRequest{
		ID: l.held.ID(), Resource: l.resource, Holder: l.held.Holder(), Token: l.held.Token(),
	})
	return renewed.TTL, err
}

// leaseEnded reports whether an error means that the lease has ended. One that is
// being broken, has no renewals left, or whose caller is refused has not yet.
func leaseEnded(err error) bool {
	switch leasehold.ReasonOf(err) {
	case leasehold.ReasonBreaking, leasehold.ReasonMaxRenewals:
		return false
	case leasehold.ReasonHolderMismatch:
		return true
	}
	return errors.Is(err, leasehold.ErrLost) || errors.Is(err, leasehold.ErrNotFound) || errors.Is(err, leasehold.ErrHeld)
}

func (l *lateRenewal) end(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = why
	if l.unstoppable {
		l.warnEnded()
	}
}

func (l *lateRenewal) warnEnded() {
	l.warn("the lease on %s is over, and the next holder may run beside the command: %v", quote(l.resource), l.ended)
}
