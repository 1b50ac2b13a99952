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

// end releases the service's lease. It was live when it was read last, or is so
// far from its end that it is live now; so if it is gone after a lost answer, this
// call or time has ended it since, and it was released.
func (s *Store) end(ctx context.Context, v *view, id leasehold.ID) *failure {
	for inDoubt := false; ; {
		_, f := s.service.releaseLease(ctx, v.resource, id, v.etag)
		switch {
		case f == nil, inDoubt && f.kind == notLeased:
			v.state = lease.StateTypeAvailable
			s.known.put(*v, leasehold.ID{})
			return nil
		case f.kind == lost && ctx.Err() == nil:
			inDoubt = true // to release again does no harm: the id is gone or is this one
		case f.kind == raced: // renewed elsewhere, or the cache is old
			now, g := s.readOwn(ctx, v.resource, id)
			if g != nil {
				return g
			}
			*v = now
		default:
			return f
		}
	}
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
	for {
		f := s.service.changeLease(ctx, v.resource, r.ID, r.Proposed, "")
		if f == nil || f.kind != lost || ctx.Err() != nil {
			return f
		}
	}
}
