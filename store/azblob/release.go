package azblob

import (
	"context"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"

	"github.com/leasehold/leasehold"
)

// Release ends an active or breaking lease at once.
func (s *Store) Release(ctx context.Context, r leasehold.ReleaseRequest) (leasehold.Lease, error) {
	return s.release(ctx, r)
}

func (s *Store) release(ctx context.Context, r leasehold.ReleaseRequest) (leasehold.Lease, error) {
	if err := r.Validate(); err != nil {
		return leasehold.Lease{}, storeError("release", r.Resource, err)
	}
	var ended leasehold.Lease
	err := s.withOwn(ctx, owned{r.ID, r.Resource, r.Holder, r.Token}, func(ctx context.Context, v view) error {
		f := s.end(ctx, &v, r.ID)
		if f != nil {
			s.known.drop(r.Resource)
			return f
		}
		ended = v.lease()
		return nil
	})
	if err != nil {
		return leasehold.Lease{}, storeError("release", r.Resource, err)
	}
	s.queues.Wake(r.Resource)
	ended.ID, ended.State, ended.Remaining = r.ID, leasehold.StateReleased, 0
	return ended, nil
}

// end writes under the lease that it is released, and releases the service's. The
// write is the release: the service would also release a lease that was broken or
// has expired, and then two would have ended it. Who finds the write and the
// service's lease still there, after a crash, ends that.
func (s *Store) end(ctx context.Context, v *view, id leasehold.ID) *failure {
	next := *v
	for try := 0; ; try++ {
		next.ended, next.mark, next.metadata = true, newMark(), nil
		f := s.storeOwn(ctx, &next, id)
		if f == nil {
			break
		}
		if f.kind != raced || !paused(ctx, f, try) {
			return f
		}
		if *v, f = s.readOwn(ctx, v.resource, id); f != nil { // renewed elsewhere, or the cache is old
			return f
		}
		next = *v
	}
	s.known.drop(v.resource)
	if _, f := s.service.releaseLease(ctx, v.resource, id, ""); f == nil {
		next.state = lease.StateTypeAvailable
		s.known.put(next, leasehold.ID{})
	}
	return nil
}

// Change swaps the id of an active lease.
func (s *Store) Change(ctx context.Context, r leasehold.ChangeRequest) (leasehold.Lease, error) {
	l, err := s.change(ctx, r)
	return l, storeError("change", r.Resource, err)
}

func (s *Store) change(ctx context.Context, r leasehold.ChangeRequest) (leasehold.Lease, error) {
	if err := r.Validate(); err != nil {
		return leasehold.Lease{}, err
	}
	var changed leasehold.Lease
	swap := func(ctx context.Context, v view) error {
		if v.state == lease.StateTypeBreaking {
			return s.isBreaking(ctx, &v)
		}
		if f := s.swapID(ctx, &v, r); f != nil {
			return f
		}
		changed = v.lease()
		changed.ID = r.Proposed
		return nil
	}
	s.known.drop(r.Resource)
	err := s.withOwn(ctx, owned{r.ID, r.Resource, r.Holder, r.Token}, swap)
	if leasehold.ReasonOf(storeError("", "", err)) == leasehold.ReasonNotFound && r.Proposed != r.ID {
		// Repeated after a lost answer, it is known by the proposed id.
		again := r
		again.ID = r.Proposed
		err = s.withOwn(ctx, owned{again.ID, r.Resource, r.Holder, r.Token}, swap)
	}
	return changed, err
}

// swapID changes the service's lease. If the answer is lost, to do it again does
// no harm: the service takes a change to the id that is there as done.
func (s *Store) swapID(ctx context.Context, v *view, r leasehold.ChangeRequest) *failure {
	for try := 0; ; try++ {
		f := s.service.changeLease(ctx, v.resource, r.ID, r.Proposed, "")
		if f == nil || f.kind != lost || !paused(ctx, f, try) {
			return f
		}
	}
}
