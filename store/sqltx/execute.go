package sqltx

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
		Op: op.name, Resource: op.need.Resource,
		Run: func(ctx context.Context) (result, error) { return s.runLimited(ctx, op) },
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

// runLimited runs an operation for as long as it may take, and tells the waiters.
func (s *Store) runLimited(ctx context.Context, op operation) (result, error) {
	limited, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	res, err := s.run(limited, op)
	if err == nil {
		s.wake(res)
	}
	return res, err
}

// wake tells the waiters of this process what an operation has changed.
func (s *Store) wake(res result) {
	row := res.out.Row
	switch {
	case len(res.out.Steps) == 0:
	case !row.At(res.now).State.Locked():
		s.queues.Wake(row.Resource)
	case row.Ends != machine.Never:
		s.queues.EndsIn(row.Resource, row.Remaining(res.now))
	}
}

// unreceived releases a grant whose id nobody knows. If it is unknown whether
// there is one, the release finds out.
func (s *Store) unreceived(ctx context.Context, op operation, res result, err error) {
	granted := err == nil && res.out.Granted
	if op.unasked.IsZero() || !granted && leasehold.ReasonOf(err) != leasehold.ReasonUnknown {
		return
	}
	undo := releaseOperation(leasehold.ReleaseRequest{ID: op.unasked, Resource: op.need.Resource, Why: leasehold.WhyAbandoned})
	_, _ = s.runLimited(ctx, undo) // else it expires
}
