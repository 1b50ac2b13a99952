package chaos

import (
	"context"
	"time"

	"github.com/leasehold/leasehold"
)

// faultyCall is a call and what the policy does to it.
type faultyCall struct {
	Call
	fault      Fault
	connection context.Context // as it was when the call was made
	closes     <-chan struct{} // ends all waiting, because the store is closed
}

// inject makes a call of the power P with the fault that the policy gives it.
func inject[P, T any](ctx context.Context, s *Store, c Call, call func(context.Context, P) (T, error)) (T, error) {
	var none T
	f, err := admit[P](s, c)
	if err != nil {
		return none, err
	}
	ctx, done := f.context(ctx)
	defer done()
	if err := f.before(ctx); err != nil {
		return none, err
	}
	store, ok := s.current().(P) // Replace may have been called since
	if !ok {
		return none, c.unsupported()
	}
	answer, err := call(ctx, store)
	if lost := f.after(ctx); lost != nil {
		return none, lost
	}
	return answer, err
}

// admit counts the call and gets its fault from the policy. A call for a power
// that the store lacks meets no fault: it must be ErrUnsupported, always.
func admit[P any](s *Store, c Call) (*faultyCall, error) {
	s.mu.Lock()
	_, able := s.inner.(P)
	down, closed, policy := s.down, s.closed, s.policy
	f := &faultyCall{Call: c, connection: s.connection, closes: s.closes}
	if able && !down && !closed {
		s.counts[c.Op]++
		f.N = s.counts[c.Op]
	}
	s.mu.Unlock()
	switch {
	case closed:
		return &faultyCall{Call: c, connection: context.Background()}, nil
	case down:
		return nil, c.failed(leasehold.ReasonUnavailable, errDown)
	case !able:
		return nil, c.unsupported()
	case policy != nil:
		f.fault = policy(f.Call) // without the lock: it may call the store
	}
	return f, nil
}

// context ends the call's context with the connection, so that an outage ends a
// call under way on both sides.
func (f *faultyCall) context(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(f.connection, func() { cancel(context.Cause(f.connection)) })
	return ctx, func() { stop(); cancel(nil) }
}

// before is the part of the fault before the store gets the call. An error means
// that the store never gets it.
func (f *faultyCall) before(ctx context.Context) error {
	if err := f.pause(ctx, f.fault.Before); err != nil {
		return err
	}
	switch f.fault.Outcome {
	case HungUnheard:
		return f.wait(ctx, nil)
	case Refused:
		if err := f.pause(ctx, f.fault.After); err != nil {
			return err
		}
		return f.failed(leasehold.ReasonUnavailable, nil)
	}
	return nil
}

// after is the part of the fault after the store has answered. An error means
// that the answer is lost.
func (f *faultyCall) after(ctx context.Context) error {
	if err := f.pause(ctx, f.fault.After); err != nil {
		return err
	}
	switch {
	case f.fault.Outcome == HungAnswered:
		return f.wait(ctx, nil)
	case f.fault.Outcome == Lost:
		return f.failed(leasehold.ReasonUnknown, nil)
	case f.connection.Err() != nil:
		return f.failed(leasehold.ReasonUnknown, errDown)
	}
	return nil
}

// pause waits so long. A pause of zero does not look at the context: the store
// itself refuses one that has ended.
func (f *faultyCall) pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	return f.wait(ctx, timer.C)
}

// wait waits for the timer; nil: for ever.
func (f *faultyCall) wait(ctx context.Context, timer <-chan time.Time) error {
	select {
	case <-timer:
		return nil
	case <-ctx.Done():
		return f.failed(leasehold.ReasonUnknown, context.Cause(ctx))
	case <-f.closes:
		return f.failed(leasehold.ReasonUnknown, errClosed)
	}
}

func (c Call) failed(reason leasehold.Reason, cause error) error {
	return &leasehold.Error{Reason: reason, Op: string(c.Op), Resource: c.Resource, Store: "chaos", Cause: cause}
}

func (c Call) unsupported() error { return c.failed(leasehold.ReasonUnsupported, nil) }
