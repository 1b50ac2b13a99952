package leasehold

import (
	"context"
	"errors"
	"time"
)

// The pauses of Lead between two acquisitions.
const (
	firstLeadPause = time.Second
	maxLeadPause   = 30 * time.Second
)

// runUnderLease waits for the lease, runs fn under it and releases it. Loss is
// set if the lease was lost meanwhile.
func runUnderLease(ctx context.Context, a *acquisition, fn func(context.Context, *Held) error) (loss, err error) {
	a.runsFunc = true
	h, err := a.acquire(ctx, OperationAcquire)
	if err != nil {
		return nil, err
	}
	defer func() { // also when fn panics
		if err := h.Release(ctx); errors.Is(err, ErrLost) {
			loss = err
		}
	}()
	return nil, fn(h.bindContext(ctx), h)
}

// leadOnce waits for the lease and leads once. An error ends Lead.
func leadOnce(ctx context.Context, a *acquisition, fn func(context.Context, *Held) error) (led bool, err error) {
	ended := false // fn's context, before fn returned
	loss, err := runUnderLease(ctx, a, func(ctx context.Context, h *Held) error {
		led = true
		err := fn(ctx, h)
		ended = ctx.Err() != nil
		return err
	})
	switch {
	case led && err != nil && !(ended && repeatsEnd(err)):
		return led, joinErrors(loss, err)
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), errClosed):
		return led, closedError(a.req.Resource)
	case ctx.Err() != nil && led:
		return led, a.cancelled(ctx, nil, 0)
	case ctx.Err() != nil || !led && refusedForGood(err):
		return led, err
	}
	return led, nil
}

// repeatsEnd reports whether fn's error only says that its context ended.
func repeatsEnd(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrLost)
}

// refusedForGood reports whether another acquisition would fail in the same way.
func refusedForGood(err error) bool {
	return errors.Is(err, ErrInvalid) || errors.Is(err, ErrForbidden) || errors.Is(err, ErrUnsupported)
}

// joinErrors joins two errors, and leaves a single one as it is.
func joinErrors(loss, err error) error {
	if loss == nil || err == nil {
		return firstError(loss, err)
	}
	return errors.Join(loss, err)
}
