package cas

import (
	"context"
	"maps"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/internal/waitqueue"
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
	if r, err = s.prepareWait(ctx, r); err != nil {
		return leasehold.Grant{}, err
	}
	if r.Timeout == 0 {
		return s.tryAcquire(ctx, r, nobodyWaits)
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
		return r, s.failures.Invalid("acquire", r.Resource, err)
	}
	if s.config == nil {
		r = s.defaults(r)
	}
	r.TTL = wholeMillis(r.TTL)
	if err := s.checkTTL(r.TTL); err != nil {
		return r, s.failures.Invalid("acquire", r.Resource, err)
	}
	r.Metadata = maps.Clone(r.Metadata)
	return r, nil
}

// defaults fills in what the request leaves out, of a store without settings.
func (s *Store) defaults(r leasehold.AcquireRequest) leasehold.AcquireRequest {
	if r.TTL == 0 {
		r.TTL = s.ttl
	}
	if r.MaxRenewals == nil {
		unlimited := leasehold.Unlimited
		r.MaxRenewals = &unlimited
	}
	if r.Timeout == 0 {
		r.Timeout = waitqueue.DefaultTimeout
	}
	return r
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
	op := operation{name: "acquire", resource: r.Resource, proposed: r.ID, caller: r.Caller, waits: c != nobodyWaits}
	if before, ok := ctx.Value(lookedUp{}).(*bool); ok {
		op.lookedUp, *before = *before, true
	}
	if r.ID.IsZero() {
		op.unasked = leasehold.NewID()
	}
	op.decide = func(f found) machine.Outcome {
		r, out := s.filled(f, r)
		if out.Reason != "" {
			return out
		}
		out = machine.Acquire(f.now, r, s.fresh(f, op.unasked), []machine.Row{f.row}, f.known, machine.Standard)
		if c == laterWaiter && out.Granted {
			return machine.Outcome{Row: f.row.At(f.now), Reason: leasehold.ReasonHeld} // free, but for others
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
func (s *Store) fresh(f found, id leasehold.ID) machine.Fresh {
	if s.traits.OwnTokens {
		return machine.Fresh{ID: id, Full: f.full, FullAt: f.fullAt}
	}
	micros := uint64(max(0, int64(f.now.Clock)/int64(time.Microsecond)))
	return machine.Fresh{Token: max(f.row.Token+1, micros), ID: id, Full: f.full, FullAt: f.fullAt}
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
		decide: func(f found) machine.Outcome {
			if out := refuseTTL(f, r.TTL); out.Reason != "" {
				return out
			}
			return machine.Renew(f.now, r, machine.Fresh{}, f.row, machine.Standard)
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
		decide: func(f found) machine.Outcome {
			return machine.Release(f.now, r, f.row, machine.Standard)
		},
	}
}

// Change implements leasehold.Changer.
func (s *Store) Change(ctx context.Context, r leasehold.ChangeRequest) (leasehold.Lease, error) {
	return s.byID(ctx, r.Validate(), r.ID, operation{
		name: "change", resource: r.Resource, proposed: r.Proposed, timed: true,
		decide: func(f found) machine.Outcome {
			return machine.Change(f.now, r, f.row, f.known, machine.Standard)
		},
	})
}

// Transfer implements leasehold.Transferer.
func (s *Store) Transfer(ctx context.Context, r leasehold.TransferRequest) (leasehold.Lease, error) {
	err := r.Validate()
	r.Metadata = maps.Clone(r.Metadata)
	id := leasehold.NewID()
	l, err := s.byID(ctx, err, r.ID, operation{
		name: "transfer", resource: r.Resource, proposed: r.Proposed, timed: true,
		decide: func(f found) machine.Outcome {
			return machine.Transfer(f.now, r, s.fresh(f, id), f.row, f.known, machine.Standard)
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
		return leasehold.Lease{}, s.failures.Invalid(op.name, op.resource, invalid)
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
		return leasehold.Lease{}, s.failures.Invalid("break", r.Resource, err)
	}
	res, err := s.execute(ctx, operation{
		name: "break", resource: r.Resource, timed: true,
		decide: func(f found) machine.Outcome {
			return machine.Break(f.now, r, s.latest(f.row, f.now), machine.Standard)
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
		return status, s.failures.Invalid("status", resource, err)
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

// Waiting returns how many wait for the resource in this process.
func (s *Store) Waiting(resource string) int { return s.queues.Waiting(resource) }

// read loads a resource's row as the rules see it.
func (s *Store) read(ctx context.Context, op, resource string) (machine.Row, machine.Instant, error) {
	item, err := s.readItem(ctx, op, resource)
	return item.Row, instant(item.Now), err
}

// readItem loads an item, with its row as the rules see it.
func (s *Store) readItem(ctx context.Context, op, resource string) (Item, error) {
	if err := s.calls.Start(op, resource); err != nil {
		return Item{}, err
	}
	defer s.calls.Done()
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	item, err := s.backend.Load(ctx, resource)
	if err == nil {
		err = s.fillEnd(ctx, &item)
	}
	if err != nil {
		return Item{}, s.failures.Read(ctx, op, resource, err)
	}
	item.Row = remembered(item.Row, resource, instant(item.Now))
	return item, nil
}
