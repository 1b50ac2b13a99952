package cas

import (
	"context"
	"maps"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// Acquire implements leasehold.Store.
func (s *Store) Acquire(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	r, err := s.prepare(r)
	if err != nil {
		return leasehold.Grant{}, err
	}
	s.queues.Yield(ctx, r.Resource)
	return s.tryAcquire(ctx, r, nobodyWaits)
}

// Wait implements leasehold.Waiter.
func (s *Store) Wait(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	r, err := s.prepare(r)
	if err != nil {
		return leasehold.Grant{}, err
	}
	return s.queues.Wait(context.WithValue(ctx, lookedUp{}, new(bool)), r)
}

// lookedUp is the key of a *bool in a waiter's context: it has looked for its
// proposed id once, and does so again only when it can get the lease.
type lookedUp struct{}

// prepare validates the request, fills in its defaults and detaches it from the
// caller's map.
func (s *Store) prepare(r leasehold.AcquireRequest) (leasehold.AcquireRequest, error) {
	if err := r.Validate(); err != nil {
		return r, s.invalid("acquire", r.Resource, err)
	}
	if r.TTL == 0 {
		r.TTL = s.ttl
	}
	r.TTL = wholeMillis(r.TTL)
	if err := s.checkTTL(r.TTL); err != nil {
		return r, s.invalid("acquire", r.Resource, err)
	}
	if r.MaxRenewals == nil {
		unlimited := leasehold.Unlimited
		r.MaxRenewals = &unlimited
	}
	r.Metadata = maps.Clone(r.Metadata)
	return r, nil
}

func wholeMillis(ttl time.Duration) time.Duration {
	if ttl == leasehold.Infinite {
		return ttl
	}
	return ttl.Truncate(time.Millisecond)
}

// checkTTL checks a ttl against the service's own limits.
func (s *Store) checkTTL(ttl time.Duration) error {
	if ttl == 0 || ttl == leasehold.Infinite || ttl >= s.traits.MinTTL && ttl <= s.traits.MaxTTL {
		return nil
	}
	return leasehold.Invalid("ttl_seconds", "is %v; this store wants %v to %v, or -1 for no end",
		ttl.Seconds(), s.traits.MinTTL.Seconds(), s.traits.MaxTTL.Seconds())
}

// caller is who tries to acquire.
type caller int

const (
	nobodyWaits caller = iota
	firstWaiter
	laterWaiter // gets the lease that it has already, and nothing new
)

// tryAcquire tries once. The request is prepared.
func (s *Store) tryAcquire(ctx context.Context, r leasehold.AcquireRequest, c caller) (leasehold.Grant, error) {
	op := operation{name: "acquire", resource: r.Resource, proposed: r.ID, waits: c != nobodyWaits}
	if before, ok := ctx.Value(lookedUp{}).(*bool); ok {
		op.lookedUp, *before = *before, true
	}
	if r.ID.IsZero() {
		op.unasked = leasehold.NewID()
	}
	op.decide = func(now machine.Instant, row machine.Row, known *machine.Row) machine.Outcome {
		out := machine.Acquire(now, r, fresh(now, row, op.unasked), []machine.Row{row}, known, machine.Standard)
		if c == laterWaiter && out.Granted {
			return machine.Outcome{Row: row.At(now), Reason: leasehold.ReasonHeld} // free, but for others
		}
		return out
	}
	res, err := s.execute(ctx, op)
	if err != nil {
		return leasehold.Grant{}, err
	}
	return leasehold.Grant{Lease: s.owned(res), Idempotent: res.out.Idempotent}, nil
}

// tryFirst is tryAcquire for the first waiter.
func (s *Store) tryFirst(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	return s.tryAcquire(ctx, r, firstWaiter)
}

// tryRepeat is tryAcquire for a waiter that joins behind others with an id.
func (s *Store) tryRepeat(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	return s.tryAcquire(ctx, r, laterWaiter)
}

// fresh is what a new grant would get.
func fresh(now machine.Instant, row machine.Row, id leasehold.ID) machine.Fresh {
	micros := uint64(max(0, int64(now.Clock)/int64(time.Microsecond)))
	return machine.Fresh{Token: max(row.Token+1, micros), ID: id}
}

// Renew implements leasehold.Store.
func (s *Store) Renew(ctx context.Context, r leasehold.RenewRequest) (leasehold.Lease, error) {
	err := r.Validate()
	r.TTL = wholeMillis(r.TTL)
	if err == nil {
		err = s.checkTTL(r.TTL)
	}
	return s.byID(ctx, err, r.ID, operation{
		name: "renew", resource: r.Resource,
		decide: func(now machine.Instant, row machine.Row, _ *machine.Row) machine.Outcome {
			return machine.Renew(now, r, machine.Fresh{}, row, machine.Standard)
		},
	})
}

// Release implements leasehold.Store.
func (s *Store) Release(ctx context.Context, r leasehold.ReleaseRequest) (leasehold.Lease, error) {
	return s.release(ctx, r)
}

func (s *Store) release(ctx context.Context, r leasehold.ReleaseRequest) (leasehold.Lease, error) {
	return s.byID(ctx, r.Validate(), r.ID, s.releaseOperation(r))
}

func (s *Store) releaseOperation(r leasehold.ReleaseRequest) operation {
	return operation{
		name: "release", resource: r.Resource,
		decide: func(now machine.Instant, row machine.Row, _ *machine.Row) machine.Outcome {
			return machine.Release(now, r, row, machine.Standard)
		},
	}
}

// Change implements leasehold.Changer.
func (s *Store) Change(ctx context.Context, r leasehold.ChangeRequest) (leasehold.Lease, error) {
	return s.byID(ctx, r.Validate(), r.ID, operation{
		name: "change", resource: r.Resource, proposed: r.Proposed,
		decide: func(now machine.Instant, row machine.Row, known *machine.Row) machine.Outcome {
			return machine.Change(now, r, row, known, machine.Standard)
		},
	})
}

// Transfer implements leasehold.Transferer.
func (s *Store) Transfer(ctx context.Context, r leasehold.TransferRequest) (leasehold.Lease, error) {
	err := r.Validate()
	r.Metadata = maps.Clone(r.Metadata)
	id := leasehold.NewID()
	l, err := s.byID(ctx, err, r.ID, operation{
		name: "transfer", resource: r.Resource, proposed: r.Proposed,
		decide: func(now machine.Instant, row machine.Row, known *machine.Row) machine.Outcome {
			return machine.Transfer(now, r, fresh(now, row, id), row, known, machine.Standard)
		},
	})
	if !r.Proposed.IsZero() {
		l.ID = leasehold.ID{} // the new holder's secret is not echoed
	}
	return l, err
}

// byID runs an operation of a caller who shows a lease id and may have left out
// the resource.
func (s *Store) byID(ctx context.Context, invalid error, id leasehold.ID, op operation) (leasehold.Lease, error) {
	if invalid != nil {
		return leasehold.Lease{}, s.invalid(op.name, op.resource, invalid)
	}
	if op.resource == "" {
		return s.byShownID(ctx, op.name, id, func(resource string) (leasehold.Lease, error) {
			op.resource = resource
			return s.ownedBy(ctx, op)
		})
	}
	return s.ownedBy(ctx, op)
}

// ownedBy runs an operation whose answer goes to the lease's owner.
func (s *Store) ownedBy(ctx context.Context, op operation) (leasehold.Lease, error) {
	res, err := s.execute(ctx, op)
	if err != nil {
		return leasehold.Lease{}, err
	}
	return s.owned(res), nil
}

// Break implements leasehold.Breaker.
func (s *Store) Break(ctx context.Context, r leasehold.BreakRequest) (leasehold.Lease, error) {
	if err := r.Validate(); err != nil {
		return leasehold.Lease{}, s.invalid("break", r.Resource, err)
	}
	res, err := s.execute(ctx, operation{
		name: "break", resource: r.Resource,
		decide: func(now machine.Instant, row machine.Row, _ *machine.Row) machine.Outcome {
			return machine.Break(now, r, row, machine.Standard)
		},
	})
	if err != nil {
		return leasehold.Lease{}, err
	}
	return s.lease(res.out.Row, res.now), nil
}

// Status implements leasehold.Store. It shows the waiters of this process.
func (s *Store) Status(ctx context.Context, resource string) (leasehold.Status, error) {
	status := leasehold.Status{Resource: resource}
	if err := leasehold.CheckResource(resource); err != nil {
		return status, s.invalid("status", resource, err)
	}
	row, now, err := s.read(ctx, "status", resource)
	if err != nil {
		return status, err
	}
	if row.State != leasehold.StateAvailable {
		l := s.lease(row, now)
		status.Lease = &l
	}
	status.Waiters = s.queues.Waiters(resource)
	return status, nil
}

// read loads a resource's row as the rules see it.
func (s *Store) read(ctx context.Context, op, resource string) (machine.Row, machine.Instant, error) {
	if err := s.start(op, resource); err != nil {
		return machine.Row{}, machine.Instant{}, err
	}
	defer s.running.Done()
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	item, err := s.backend.Load(ctx, resource)
	if err != nil {
		return machine.Row{}, machine.Instant{}, s.readError(ctx, op, resource, err)
	}
	now := instant(item.Now)
	return remembered(item.Row, resource, now), now, nil
}
