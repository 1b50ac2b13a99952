package api

import (
	"context"
	"errors"
	"time"

	"github.com/leasehold/leasehold"
)

// errLimit is the cause of a context whose operation took too long.
var errLimit = errors.New("the store did not answer in time")

// callStore calls a method of the store under the time limit. The operations of
// a batch share one.
func callStore[R, T any](c *call, method func(context.Context, R) (T, error), r R) (T, error) {
	if !c.batched {
		return callStoreFor(c, c.ctx, 0, method, r)
	}
	v, err := method(c.ctx, r)
	if err != nil {
		err = contextError(c.ctx, c.endpoint.ID, err)
	}
	return v, err
}

// callStoreFor is callStore with a limit that is longer by the time that the
// request itself may spend waiting.
func callStoreFor[R, T any](c *call, parent context.Context, waiting time.Duration, method func(context.Context, R) (T, error), r R) (T, error) {
	ctx, cancel := context.WithTimeoutCause(parent, c.s.o.StoreTimeout+waiting, errLimit)
	defer cancel()
	v, err := method(ctx, r)
	if err != nil {
		err = contextError(ctx, c.endpoint.ID, err)
	}
	return v, err
}

// contextError returns the error of an operation whose context has ended: that
// the server drains, or that the outcome is unknown. A definite outcome stands,
// however late it came.
func contextError(ctx context.Context, op string, err error) error {
	cause, reason := context.Cause(ctx), leasehold.ReasonOf(err)
	unknown := reason == "" || reason == leasehold.ReasonUnknown
	ended := reason == leasehold.ReasonCancelled || reason == leasehold.ReasonUnavailable
	if ctx.Err() == nil || !unknown && !ended {
		return err
	}
	result := &leasehold.Error{Op: op, Cause: err}
	if e := (*leasehold.Error)(nil); errors.As(err, &e) {
		result.Resource, result.Store, result.Waited = e.Resource, e.Store, e.Waited
	}
	switch {
	case cause == errDraining && ended:
		result.Reason, result.RetryAfter, result.Cause = leasehold.ReasonUnavailable, time.Second, errDraining
	case cause == errLimit || unknown:
		result.Reason = leasehold.ReasonUnknown
	default: // the client is gone
		return err
	}
	return result
}
