package leasehold

import (
	"context"
	"errors"
	"time"
)

// Do waits for the lease as Acquire does, runs fn under it and gives it back.
//
// Fn's context ends when ctx does, when the Manager closes, and before the lease
// can be lost; fn must then stop. The lease is released only after fn has
// returned, or has unwound from a panic, which Do lets pass.
//
// The error is fn's. If the lease was lost while fn ran, the error also matches
// ErrLost, even if fn returned nil: somebody else may have been at work at the
// same time. That the lease could not be given back is no error of the work; a
// Released event tells.
func (m *Manager) Do(ctx context.Context, resource string, fn func(context.Context, *Held) error, want ...AcquireOptions) error {
	a, err := m.newAsk(ctx, resource, want)
	if err != nil {
		return err
	}
	ctx, leave, err := m.enter(ctx, resource)
	if err != nil {
		return err
	}
	defer leave()
	loss, err := a.work(ctx, fn)
	return both(loss, err)
}

// work waits for the lease, runs fn under it and gives it back. Loss is set if
// the lease was lost meanwhile.
func (a *ask) work(ctx context.Context, fn func(context.Context, *Held) error) (loss, err error) {
	a.works = true
	h, err := a.obtain(ctx, (*ask).wait)
	if err != nil {
		return nil, err
	}
	defer func() { // also when fn panics
		if released := h.Release(ctx); errors.Is(released, ErrLost) {
			loss = released
		}
	}()
	return nil, fn(h.bind(ctx), h)
}

// both joins two errors, and leaves a single one as it is.
func both(loss, err error) error {
	if loss == nil || err == nil {
		return firstError(loss, err)
	}
	return errors.Join(loss, err)
}

// The pauses between two campaigns of Lead.
const (
	firstStepBack = time.Second
	mostStepBack  = 30 * time.Second
)

// Lead is leader election. It campaigns for the lease, runs fn while it leads,
// and campaigns again when fn has returned nil or the lease was lost, after a
// jittered pause of about a second that lets others have their turn.
//
// At most one fn leads at a time as far as leases can tell: see the package
// comment. Fn's context ends as in Do, and the lease is released only after fn
// has returned.
//
// Lead returns when ctx ends, when the Manager closes, when fn returns an error
// that is not just the echo of its context's end, or when the store refuses the
// request for good. It never returns nil.
func (m *Manager) Lead(ctx context.Context, resource string, fn func(context.Context, *Held) error, want ...AcquireOptions) error {
	ctx, leave, err := m.enter(ctx, resource)
	if err != nil {
		return err
	}
	defer leave()
	pause := firstStepBack
	for {
		led, err := m.term(ctx, resource, fn, want)
		if err != nil {
			return err
		}
		if led {
			pause = firstStepBack
		}
		sleep(ctx, jitter(pause))
		pause = min(2*pause, mostStepBack)
	}
}

// term is one campaign and, if it was won, one time in office. An error ends
// the leadership for good.
func (m *Manager) term(ctx context.Context, resource string, fn func(context.Context, *Held) error, want []AcquireOptions) (led bool, err error) {
	a, err := m.newAsk(ctx, resource, want)
	if err != nil {
		return false, err
	}
	told := false
	loss, err := a.work(ctx, func(ctx context.Context, h *Held) error {
		led = true
		err := fn(ctx, h)
		told = ctx.Err() != nil
		return err
	})
	switch {
	case led && err != nil && !(told && echo(err)):
		return led, both(loss, err)
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), errClosed):
		return led, m.refusal(resource)
	case ctx.Err() != nil && led:
		return led, a.cancelled(ctx, nil, 0)
	case ctx.Err() != nil || !led && final(err):
		return led, err
	}
	return led, nil
}

// echo reports whether fn's error only repeats that its context ended.
func echo(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrLost)
}

// final reports whether another campaign would only fail in the same way.
func final(err error) bool {
	return errors.Is(err, ErrInvalid) || errors.Is(err, ErrForbidden) || errors.Is(err, ErrUnsupported)
}
