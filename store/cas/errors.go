package cas

import "github.com/leasehold/leasehold"

// refusal turns an operation's result into the caller's.
func (s *Store) refusal(op operation, res result) (result, error) {
	out := res.out
	if out.Reason == "" {
		return res, nil
	}
	if !op.waits { // a waiter is not refused before its time is up
		s.watches.refused(op, res)
	}
	err := s.failures.New(op.name, op.resource, out.Reason, nil)
	err.Field, err.Problem = out.Field, out.Problem
	if out.Row.At(res.now).State.Locked() && (out.Reason == leasehold.ReasonHeld || out.Reason == leasehold.ReasonBreaking) {
		current := s.lease(out.Row, res.now)
		err.Current = &current
		err.RetryAfter = max(0, current.Remaining)
		if op.waits {
			err.RetryAfter = s.freeIn(out.Row, res.now)
		}
		err.Waiting = s.queues.Waiting(op.resource)
		if out.Reason == leasehold.ReasonBreaking {
			err.Remaining = current.Remaining
		}
	}
	return result{}, err
}
