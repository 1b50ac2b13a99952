package api

import (
	"context"
	"errors"
	"time"

	"github.com/leasehold/leasehold"
)

// errLimit is the cause of a context whose operation took too long.
var errLimit = errors.New("the store did not answer in time")

// within runs one operation of the store under the time limit.
func within[T any](c *call, f func(context.Context) (T, error)) (T, error) {
	if c.limited == nil {
		return longer(c, c.r.Context(), 0, f)
	}
	v, err := f(c.limited)
	if err != nil {
		err = c.explain(c.limited, err)
	}
	return v, err
}

// longer is within with a longer limit, for time that the request itself asked
// to spend.
func longer[T any](c *call, parent context.Context, more time.Duration, f func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeoutCause(parent, c.s.o.StoreTimeout+more, errLimit)
	defer cancel()
	v, err := f(ctx)
	if err != nil {
		err = c.explain(ctx, err)
	}
	return v, err
}

// explain says why an operation whose context ended did not go through. A
// definite answer stands, however late it came.
func (c *call) explain(ctx context.Context, err error) error {
	cause, reason := context.Cause(ctx), leasehold.ReasonOf(err)
	open := reason == "" || reason == leasehold.ReasonUnknown
	ended := reason == leasehold.ReasonCancelled || reason == leasehold.ReasonUnavailable
	told := &leasehold.Error{Op: c.endpoint.ID, Cause: err}
	if e := (*leasehold.Error)(nil); errors.As(err, &e) {
		told.Resource, told.Store, told.Waited = e.Resource, e.Store, e.Waited
	}
	switch {
	case ctx.Err() == nil || !open && !ended:
		return err
	case cause == errDraining && ended:
		told.Reason, told.RetryAfter, told.Cause = leasehold.ReasonUnavailable, time.Second, errDraining
	case cause == errLimit || open:
		told.Reason = leasehold.ReasonUnknown
	default: // the client is gone
		return err
	}
	return told
}
