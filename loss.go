package leasehold

import (
	"errors"
	"fmt"
)

// verdict is what an error says about a lease that was to be renewed.
type verdict uint8

const (
	transient verdict = iota // nothing: the lease may be as it was
	gone                     // it is not ours any more
	breaking                 // it ends soon and cannot be renewed
	spent                    // its renewals are used up; it lives until its end
)

// judge tells a definitive answer from a failure to get one. Only answers about
// the lease itself count: a store that finds the request invalid, or cannot do
// what was asked, has not said that the lease is gone, and neither has an error
// that is not of this package.
func judge(err error) verdict {
	switch ReasonOf(err) {
	case ReasonBreaking:
		return breaking
	case ReasonMaxRenewals:
		return spent
	}
	for _, definitive := range []error{ErrLost, ErrNotFound, ErrForbidden, ErrHeld} {
		if errors.Is(err, definitive) {
			return gone
		}
	}
	return transient
}

// lossOf is the cause with which a lease's context ends when the store has said
// that the lease is gone. It keeps the store's reason and always matches
// ErrLost.
func lossOf(h *Held, err error) *Error {
	e := *asError("hold", h.resource, err)
	if e.Reason.Sentinel() == ErrLost {
		return &e
	}
	if e.Cause == nil {
		e.Cause = ErrLost
	} else {
		e.Cause = fmt.Errorf("%w: %w", ErrLost, e.Cause)
	}
	return &e
}

// asError returns err as the *Error that it is. Anything else comes from a
// store that broke its contract, and nobody knows what it did.
func asError(op, resource string, err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Reason: ReasonUnknown, Op: op, Resource: resource, Cause: err}
}
