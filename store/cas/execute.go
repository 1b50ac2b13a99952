package cas

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// answer is what an operation leaves for its caller.
type answer struct {
	result
	err error
}

// grace is how long an operation under way is waited for after its caller's
// context has ended. Mostly it ends by then, and the caller learns how.
const grace = 500 * time.Millisecond

// execute runs an operation in the background and waits for it, or until a moment
// after the caller has left: a write under way is not cut off, so that its outcome
// is known to somebody.
func (s *Store) execute(ctx context.Context, op operation) (result, error) {
	if ctx.Err() != nil {
		return result{}, s.failure(op.name, op.resource, leasehold.ReasonUnavailable, context.Cause(ctx))
	}
	if err := s.start(op.name, op.resource); err != nil {
		return result{}, err
	}
	var over atomic.Bool // answered, or the caller has left: whichever is first
	done := make(chan answer, 1)
	go func() {
		defer s.running.Done()
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.limit)
		defer cancel()
		res, err := s.run(limited, op)
		s.wake(res)
		if over.CompareAndSwap(false, true) {
			done <- answer{res, err}
			return
		}
		s.unreceived(context.WithoutCancel(ctx), op, res, err)
	}()
	select {
	case a := <-done:
		return s.refusal(op, a)
	case <-ctx.Done():
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case a := <-done:
		return s.refusal(op, a)
	case <-timer.C:
	}
	if !over.CompareAndSwap(false, true) {
		return s.refusal(op, <-done)
	}
	return result{}, s.failure(op.name, op.resource, leasehold.ReasonUnknown, context.Cause(ctx))
}

// wake tells the waiters what an operation has changed.
func (s *Store) wake(res result) {
	row := res.out.Row
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
