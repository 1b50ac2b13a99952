package mcp

import (
	"context"
	"errors"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/sleep"
)

// Of a store without a queue: the pauses between two attempts.
const (
	firstPause = 100 * time.Millisecond
	mostPause  = 2 * time.Second
)

// lookBefore is how long before the end of a wait its position is read.
const lookBefore = 2 * time.Second

// wait acquires when it is this call's turn. Position is where the call stood in line
// shortly before the wait ended; 0 if that is not known.
func (c *call) wait(r leasehold.AcquireRequest, wait time.Duration) (g leasehold.Grant, position int, err error) {
	if c.s.draining.Err() != nil {
		return g, 0, c.drained()
	}
	if !c.s.waiters.Enter(c.caller().Name) {
		return g, 0, c.tooMany()
	}
	defer c.s.waiters.Exit(c.caller().Name)
	ctx, cancel := context.WithCancelCause(c.ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.s.draining, func() { cancel(errDraining) })()
	r.Timeout = wait
	positions := c.watchPosition(ctx, r, wait-min(lookBefore, wait/2))
	g, err = c.waitInQueue(ctx, r)
	position = positions()
	if err != nil && context.Cause(ctx) == errDraining {
		err = c.drained()
	}
	return g, position, err
}

func (c *call) drained() error {
	return &leasehold.Error{Reason: leasehold.ReasonUnavailable, Op: c.op, RetryAfter: time.Second, Cause: errDraining}
}

// waitInQueue waits in the store's queue, or tries again and again where it has none.
func (c *call) waitInQueue(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	if waiter, ok := c.s.store.(leasehold.Waiter); ok {
		g, err := inSequence(r, func(r leasehold.AcquireRequest) (leasehold.Grant, error) {
			return callStoreFor(c, ctx, r.Timeout, waiter.Wait, r)
		})
		if leasehold.ReasonOf(err) != leasehold.ReasonUnsupported {
			return g, err
		}
	}
	return c.tryUntil(ctx, r, time.Now().Add(r.Timeout))
}

// tryUntil acquires with pauses.
func (c *call) tryUntil(ctx context.Context, r leasehold.AcquireRequest, deadline time.Time) (leasehold.Grant, error) {
	r.Timeout = 0
	for pause := firstPause; ; pause = min(2*pause, mostPause) {
		g, err := c.acquireOnce(r)
		left := time.Until(deadline)
		if !mayWaitFor(err) || left <= 0 {
			return g, err
		}
		if e := (*leasehold.Error)(nil); errors.As(err, &e) && e.RetryAfter > 0 {
			left = min(left, e.RetryAfter)
		}
		if !sleep.For(ctx, min(pause, left)) {
			return g, err
		}
	}
}

// mayWaitFor reports whether waiting helps.
func mayWaitFor(err error) bool {
	reason := leasehold.ReasonOf(err)
	return reason == leasehold.ReasonHeld || reason == leasehold.ReasonBreaking
}

// watchPosition reads the position after a while: once the wait is over, the store
// shows the place to nobody. The function that it returns has the answer, and must be
// called.
func (c *call) watchPosition(ctx context.Context, r leasehold.AcquireRequest, after time.Duration) func() int {
	ctx, cancel := context.WithCancel(ctx)
	done, position := make(chan struct{}), 0
	go func() {
		defer close(done)
		if sleep.For(ctx, after) {
			position = c.position(ctx, r)
		}
	}()
	return func() int { cancel(); <-done; return position }
}

// maxLooks bounds how many leases and names one look at the queue reads.
const maxLooks = 8

// position returns where the holder stands in line; 0 if that is not known.
func (c *call) position(ctx context.Context, r leasehold.AcquireRequest) int {
	names := []string{r.Resource}
	if r.Resource == "" {
		names = c.inTheWay(ctx, r.Claims)
	}
	for _, name := range names[:min(maxLooks, len(names))] {
		status, err := callStoreFor(c, ctx, 0, c.s.store.Status, name)
		if err != nil {
			continue // the wait itself says what is wrong
		}
		for _, w := range status.Waiters {
			if w.Holder == r.Holder {
				return w.Position
			}
		}
	}
	return 0
}

// inTheWay returns names whose status has the waiters for the claims: resources, and
// for paths the leases that overlap.
func (c *call) inTheWay(ctx context.Context, claims []leasehold.Claim) (names []string) {
	lister, ok := c.s.store.(leasehold.Lister)
	for _, claim := range claims {
		if claim.Namespace == "" {
			names = append(names, claim.Pattern)
			continue
		}
		if !ok || len(names) >= maxLooks {
			continue
		}
		page, err := callStoreFor(c, ctx, 0, lister.List, leasehold.ListRequest{Namespace: claim.Namespace, Path: claim.Pattern, Limit: maxLooks})
		if err != nil {
			continue
		}
		for _, l := range page.Leases {
			names = append(names, l.Resource)
		}
	}
	return names
}

// detached returns a context for what must be done although nobody waits any more.
func detached(c *call) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(c.ctx), c.s.o.StoreTimeout)
}
