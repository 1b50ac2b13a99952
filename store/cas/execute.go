package cas

import (
	"context"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/internal/calls"
)

// execute runs an operation and waits for it, or until a moment after the caller has
// left.
func (s *Store) execute(ctx context.Context, op operation) (result, error) {
	res, err := calls.Run(ctx, s.calls, calls.Write[result]{
		Op: op.name, Resource: op.resource,
		Run: func(ctx context.Context) (result, error) {
			ctx, cancel := context.WithTimeout(ctx, s.limit)
			defer cancel()
			res, err := s.run(ctx, op)
			s.wake(res)
			return res, err
		},
		After: func(ctx context.Context, res result, err error, received bool) {
			if !received || err != nil {
				s.unreceived(ctx, op, res, err)
			}
		},
	})
	if err != nil {
		return res, err
	}
	return s.refusal(op, res)
}

// wake tells the waiters what an operation has changed.
func (s *Store) wake(res result) {
	row := res.out.Row
	if len(res.out.Steps) > 0 {
		s.watches.wake()
	}
	if row.State.Locked() && row.Ends != machine.Never && !s.traits.OwnExpiry {
		s.sweeper.EndsIn(s.freeIn(row, res.now))
	}
	switch {
	case len(res.out.Steps) == 0:
	case !row.At(res.now).State.Locked():
		s.queues.Wake(row.Resource)
	case row.Ends != machine.Never:
		s.queues.EndsIn(row.Resource, s.freeIn(row, res.now))
	}
}

// unreceived releases a grant whose id nobody knows. If it is unknown whether
// there is one, the release finds out.
func (s *Store) unreceived(ctx context.Context, op operation, res result, err error) {
	granted := err == nil && res.out.Granted
	if op.unasked.IsZero() || !granted && leasehold.ReasonOf(err) != leasehold.ReasonUnknown {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	undo := s.releaseOperation(leasehold.ReleaseRequest{ID: op.unasked, Resource: op.resource, Why: leasehold.WhyAbandoned})
	if res, err = s.run(ctx, undo); err == nil { // else it expires
		s.wake(res)
	}
}
