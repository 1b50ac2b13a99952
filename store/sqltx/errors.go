package sqltx

import "github.com/leasehold/leasehold"

// refusal turns an operation's result into the caller's.
func (s *Store) refusal(op operation, res result) (result, error) {
	out := res.out
	if out.Reason == "" {
		return res, nil
	}
	resource := op.resource(out.Row)
	if out.Reason != leasehold.ReasonUnavailable {
		s.watches.Refused(refused(op, res))
	}
	err := s.failures.New(op.name, resource, out.Reason, res.cause)
	err.Field, err.Problem = out.Field, out.Problem
	if out.Row.At(res.now).State.Locked() && (out.Reason == leasehold.ReasonHeld || out.Reason == leasehold.ReasonBreaking) {
		current := out.Row.Lease(res.now)
		err.Current = &current
		err.RetryAfter = max(0, current.Remaining)
		err.Waiting = s.queues.Waiting(resource)
		if out.Reason == leasehold.ReasonBreaking {
			err.Remaining = current.Remaining
		}
	}
	return result{}, err
}

// refused is what watchers are told of a refusal.
func refused(op operation, res result) leasehold.Record {
	row := res.out.Row
	return leasehold.Record{
		At: res.now.WallTime(), Kind: leasehold.KindRefused, Resource: op.resource(row),
		Holder: row.Holder, Token: row.Token, Before: row.State, After: row.State,
		Why: string(res.out.Reason), Details: map[string]string{"operation": op.name},
	}
}
