package cas

import (
	"context"
	"errors"

	"github.com/leasehold/leasehold"
)

func (s *Store) failure(op, resource string, reason leasehold.Reason, cause error) *leasehold.Error {
	return &leasehold.Error{Reason: reason, Op: op, Resource: resource, Store: s.traits.Kind, Cause: cause}
}

// invalid completes the error of a request that breaks a limit.
func (s *Store) invalid(op, resource string, err error) error {
	var e *leasehold.Error
	if errors.As(err, &e) {
		e.Op, e.Store = op, s.traits.Kind
		if e.Field != "resource" {
			e.Resource = resource
		}
	}
	return err
}

// backendError completes an error of the backend. One without a reason leaves a
// write in doubt, and is harmless in a read.
func (s *Store) backendError(op, resource string, err error, wrote bool) *leasehold.Error {
	var e *leasehold.Error
	if errors.As(err, &e) {
		full := *e
		full.Op, full.Resource, full.Store = op, resource, s.traits.Kind
		return &full
	}
	reason := leasehold.ReasonUnavailable
	if wrote {
		reason = leasehold.ReasonUnknown
	}
	return s.failure(op, resource, reason, err)
}

// readError is backendError for a call that changes nothing: it did not happen.
func (s *Store) readError(ctx context.Context, op, resource string, err error) error {
	e := s.backendError(op, resource, err, false)
	if e.Reason == leasehold.ReasonUnknown {
		e.Reason = leasehold.ReasonUnavailable
	}
	if ctx.Err() != nil && !errors.Is(e, context.Cause(ctx)) {
		e.Cause = context.Cause(ctx)
	}
	return e
}

// refusal turns an operation's answer into the caller's.
func (s *Store) refusal(op operation, a answer) (result, error) {
	out := a.out
	if a.err != nil || out.Reason == "" {
		return a.result, a.err
	}
	err := s.failure(op.name, op.resource, out.Reason, nil)
	err.Field, err.Problem = out.Field, out.Problem
	if out.Row.At(a.now).State.Locked() && (out.Reason == leasehold.ReasonHeld || out.Reason == leasehold.ReasonBreaking) {
		current := s.lease(out.Row, a.now)
		err.Current = &current
		err.RetryAfter = max(0, current.Remaining)
		if op.waits {
			err.RetryAfter = s.freeIn(out.Row, a.now)
		}
		err.Waiting = s.queues.Waiting(op.resource)
		if out.Reason == leasehold.ReasonBreaking {
			err.Remaining = current.Remaining
		}
	}
	return result{}, err
}
