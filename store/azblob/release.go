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
	// Only of the blob as it was just written: should this call be late, the same
	// id may have a new lease.
	if _, f := s.service.releaseLease(ctx, v.resource, id, next.etag); f == nil {
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
	try := func(shown leasehold.ID) error {
		return s.withOwn(ctx, owned{shown, r.Resource, r.Holder, r.Token}, func(ctx context.Context, v view) error {
			if err := s.swapID(ctx, &v, shown, r); err != nil {
				return err
			}
			changed = v.lease()
			changed.ID = r.Proposed
			return nil
		})
	}
	s.known.drop(r.Resource)
	err := try(r.ID)
	if leasehold.ReasonOf(storeError("", "", err)) == leasehold.ReasonNotFound && r.Proposed != r.ID {
		err = try(r.Proposed) // repeated after a lost answer, it is known by that id
	}
	return changed, err
}

// swapID changes the service's lease of the blob as it was read: a call that is
// late finds no new lease with the old id. If the answer is lost, to do it again
// does no harm: the service takes a change to the id that is there as done. Shown
// is the one of the two that the lease had when it was read.
func (s *Store) swapID(ctx context.Context, v *view, shown leasehold.ID, r leasehold.ChangeRequest) error {
	for try := 0; ; try++ {
		if v.state == lease.StateTypeBreaking {
			return s.isBreaking(ctx, v)
		}
		f := s.service.changeLease(ctx, v.resource, r.ID, r.Proposed, v.etag)
		switch {
		case f == nil:
			return nil
		case f.kind != lost && f.kind != raced || !paused(ctx, f, try):
			return f
		case f.kind == raced: // renewed elsewhere
			if *v, f = s.readOwn(ctx, v.resource, shown); f != nil {
				return f
			}
		}
	}
}
