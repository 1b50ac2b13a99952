// Package failures completes the errors of a store: each names its operation, its
// resource and the kind of store.
package failures

import (
	"context"
	"errors"

	"github.com/leasehold/leasehold"
)

// Store is the kind of store whose errors are completed.
type Store string

// New returns an error of the store's own.
func (s Store) New(op, resource string, reason leasehold.Reason, cause error) *leasehold.Error {
	return &leasehold.Error{Reason: reason, Op: op, Resource: resource, Store: string(s), Cause: cause}
}

// Invalid completes the error of a request that breaks a limit.
func (s Store) Invalid(op, resource string, err error) error {
	var e *leasehold.Error
	if errors.As(err, &e) {
		e.Op, e.Store = op, string(s)
		if e.Field != "resource" {
			e.Resource = resource
		}
	}
	return err
}

// Complete completes an error of the service that keeps the leases. One without a
// reason leaves a write in doubt, and is harmless in a read.
func (s Store) Complete(op, resource string, err error, wrote bool) *leasehold.Error {
	var e *leasehold.Error
	if errors.As(err, &e) {
		full := *e // others may have the same error
		full.Op, full.Resource, full.Store = op, resource, string(s)
		return &full
	}
	reason := leasehold.ReasonUnavailable
	if wrote {
		reason = leasehold.ReasonUnknown
	}
	return s.New(op, resource, reason, err)
}

// Read is Complete for a call that changes nothing: it did not happen.
func (s Store) Read(ctx context.Context, op, resource string, err error) error {
	e := s.Complete(op, resource, err, false)
	if e.Reason == leasehold.ReasonUnknown {
		e.Reason = leasehold.ReasonUnavailable
	}
	if ctx.Err() != nil && !errors.Is(e, context.Cause(ctx)) {
		e.Cause = context.Cause(ctx)
	}
	return e
}
