package storetest

import (
	"context"

	"github.com/leasehold/leasehold"
)

// Acquire passes on and records.
func (r *Recorder) Acquire(ctx context.Context, q leasehold.AcquireRequest) (leasehold.Grant, error) {
	return r.acquire(q, func(s leasehold.Store) (leasehold.Grant, error) { return s.Acquire(ctx, q) })
}

// Wait passes on and records. It counts as an acquire that took its time.
func (r *Recorder) Wait(ctx context.Context, q leasehold.AcquireRequest) (leasehold.Grant, error) {
	return r.acquire(q, func(s leasehold.Store) (leasehold.Grant, error) {
		if w, ok := s.(leasehold.Waiter); ok {
			return w.Wait(ctx, q)
		}
		return leasehold.Grant{}, missing
	})
}

func (r *Recorder) acquire(q leasehold.AcquireRequest, do func(leasehold.Store) (leasehold.Grant, error)) (leasehold.Grant, error) {
	c, s := r.open(call{
		kind: callAcquire, resource: q.Resource, id: q.ID, holder: q.Holder,
		proposed: !q.ID.IsZero(), mortal: mortal(q.TTL),
	})
	g, err := do(s)
	if err == nil {
		c.id = g.ID
	}
	if g.Idempotent {
		c.result = repeated
	}
	r.shut(c, g.Lease, err)
	return g, err
}

// Renew passes on and records.
func (r *Recorder) Renew(ctx context.Context, q leasehold.RenewRequest) (leasehold.Lease, error) {
	c, s := r.open(call{kind: callRenew, resource: q.Resource, id: q.ID})
	l, err := s.Renew(ctx, q)
	r.shut(c, l, err)
	return l, err
}

// Release passes on and records.
func (r *Recorder) Release(ctx context.Context, q leasehold.ReleaseRequest) (leasehold.Lease, error) {
	c, s := r.open(call{kind: callRelease, resource: q.Resource, id: q.ID})
	l, err := s.Release(ctx, q)
	r.shut(c, l, err)
	return l, err
}

// Break passes on and records. The model knows no break periods: leave them
// out.
func (r *Recorder) Break(ctx context.Context, q leasehold.BreakRequest) (leasehold.Lease, error) {
	c, s := r.open(call{kind: callBreak, resource: q.Resource})
	l, err := leasehold.Lease{}, error(missing)
	if b, ok := s.(leasehold.Breaker); ok {
		l, err = b.Break(ctx, q)
	}
	r.shut(c, l, err)
	return l, err
}

// Transfer passes on and records. The request must propose an id, or the
// history cannot know which one is live if the answer is lost.
func (r *Recorder) Transfer(ctx context.Context, q leasehold.TransferRequest) (leasehold.Lease, error) {
	c, s := r.open(call{kind: callTransfer, resource: q.Resource, id: q.ID, next: q.Proposed, holder: q.To})
	l, err := leasehold.Lease{}, error(missing)
	if t, ok := s.(leasehold.Transferer); ok {
		l, err = t.Transfer(ctx, q)
	}
	r.shut(c, l, err)
	return l, err
}

// Status passes on and records.
func (r *Recorder) Status(ctx context.Context, resource string) (leasehold.Status, error) {
	c, s := r.open(call{kind: callStatus, resource: resource})
	status, err := s.Status(ctx, resource)
	var l leasehold.Lease
	if status.Lease != nil {
		l = *status.Lease
	}
	r.shut(c, l, err)
	return status, err
}

// Close closes the store.
func (r *Recorder) Close() error { return r.store.Close() }
