package sqltx

import (
	"context"
	"maps"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/internal/settings"
)

// Acquire implements leasehold.Store.
func (s *Store) Acquire(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	if err := r.Validate(); err != nil {
		return leasehold.Grant{}, s.failures.Invalid("acquire", r.Resource, err)
	}
	s.queues.Yield(ctx, r.Resource)
	return s.tryAcquire(ctx, detached(r), nobodyWaits)
}

// detached separates the request from the caller's map, and cuts its ttl to whole
// milliseconds.
func detached(r leasehold.AcquireRequest) leasehold.AcquireRequest {
	r.TTL = wholeMillis(r.TTL)
	r.Metadata = maps.Clone(r.Metadata)
	return r
}

func wholeMillis(ttl time.Duration) time.Duration {
	if ttl == leasehold.Infinite {
		return ttl
	}
	return ttl.Truncate(time.Millisecond)
}

// caller is who tries to acquire.
type caller int

const (
	nobodyWaits caller = iota
	firstWaiter
	laterWaiter // gets the lease that it has already, and nothing new
)

// tryAcquire tries once. The request is valid and detached.
func (s *Store) tryAcquire(ctx context.Context, r leasehold.AcquireRequest, c caller) (leasehold.Grant, error) {
	op := operation{
		name: "acquire", need: Need{Resource: r.Resource, Proposed: r.ID, Caller: r.Caller},
		counts: true, waits: c != nobodyWaits && s.notifies(),
	}
	if r.ID.IsZero() {
		op.unasked = leasehold.NewID()
	}
	op.decide = func(v *settings.Values, now machine.Instant, row machine.Row, known *machine.Row, fresh machine.Fresh) machine.Outcome {
		full := v.Fill(r)
		if no := v.RefuseTTL(r.Resource, full.TTL); no.Reason != "" {
			return no
		}
		out := machine.Acquire(now, full, fresh, []machine.Row{row}, known, machine.Standard)
		if c == laterWaiter && out.Granted {
			return machine.Outcome{Row: row.At(now), Reason: leasehold.ReasonHeld} // free, but for others
		}
		return out
	}
	res, err := s.execute(ctx, op)
	if err != nil {
		return leasehold.Grant{}, err
	}
	return leasehold.Grant{Lease: res.out.Row.Owned(res.now), Idempotent: res.out.Idempotent}, nil
}

// Renew implements leasehold.Store.
func (s *Store) Renew(ctx context.Context, r leasehold.RenewRequest) (leasehold.Lease, error) {
	invalid := r.Validate()
	r.TTL = wholeMillis(r.TTL)
	return s.byID(ctx, invalid, operation{
		name: "renew", need: Need{Resource: r.Resource, ID: r.ID},
		decide: func(v *settings.Values, now machine.Instant, row machine.Row, _ *machine.Row, _ machine.Fresh) machine.Outcome {
			if no := v.RefuseTTL(row.Resource, r.TTL); no.Reason != "" {
				return no
			}
			return machine.Renew(now, r, machine.Fresh{}, row, machine.Standard)
		},
	})
}

// Release implements leasehold.Store.
func (s *Store) Release(ctx context.Context, r leasehold.ReleaseRequest) (leasehold.Lease, error) {
	return s.byID(ctx, r.Validate(), releaseOperation(r))
}

func releaseOperation(r leasehold.ReleaseRequest) operation {
	return operation{
		name: "release", need: Need{Resource: r.Resource, ID: r.ID},
		decide: func(_ *settings.Values, now machine.Instant, row machine.Row, _ *machine.Row, _ machine.Fresh) machine.Outcome {
			return machine.Release(now, r, row, machine.Standard)
		},
	}
}

// Change implements leasehold.Changer.
func (s *Store) Change(ctx context.Context, r leasehold.ChangeRequest) (leasehold.Lease, error) {
	return s.byID(ctx, r.Validate(), operation{
		name: "change", need: Need{Resource: r.Resource, ID: r.ID, Proposed: r.Proposed},
		decide: func(_ *settings.Values, now machine.Instant, row machine.Row, known *machine.Row, _ machine.Fresh) machine.Outcome {
			return machine.Change(now, r, row, known, machine.Standard)
		},
	})
}

// Transfer implements leasehold.Transferer.
func (s *Store) Transfer(ctx context.Context, r leasehold.TransferRequest) (leasehold.Lease, error) {
	invalid := r.Validate()
	r.Metadata = maps.Clone(r.Metadata)
	id := leasehold.NewID()
	l, err := s.byID(ctx, invalid, operation{
		name: "transfer", need: Need{Resource: r.Resource, ID: r.ID, Proposed: r.Proposed},
		decide: func(_ *settings.Values, now machine.Instant, row machine.Row, known *machine.Row, fresh machine.Fresh) machine.Outcome {
			fresh.ID = id
			return machine.Transfer(now, r, fresh, row, known, machine.Standard)
		},
	})
	if !r.Proposed.IsZero() {
		l.ID = leasehold.ID{} // the new holder's secret is not echoed
	}
	return l, err
}

// byID runs an operation of a caller who shows a lease id and may have left out the
// resource. Where this store has written the id it looks there first.
func (s *Store) byID(ctx context.Context, invalid error, op operation) (leasehold.Lease, error) {
	if invalid != nil {
		return leasehold.Lease{}, s.failures.Invalid(op.name, op.need.Resource, invalid)
	}
	if op.need.Resource == "" {
		if here, ok := s.known.Resource(op.need.ID); ok {
			there := op
			there.need.Resource = here
			if res, err := s.execute(ctx, there); leasehold.ReasonOf(err) != leasehold.ReasonNotFound {
				return owned(res, err)
			}
		}
	}
	return owned(s.execute(ctx, op))
}

// owned is the answer to the lease's owner.
func owned(res result, err error) (leasehold.Lease, error) {
	if err != nil {
		return leasehold.Lease{}, err
	}
	return res.out.Row.Owned(res.now), nil
}

// Break implements leasehold.Breaker.
func (s *Store) Break(ctx context.Context, r leasehold.BreakRequest) (leasehold.Lease, error) {
	if err := r.Validate(); err != nil {
		return leasehold.Lease{}, s.failures.Invalid("break", r.Resource, err)
	}
	res, err := s.execute(ctx, operation{
		name: "break", need: Need{Resource: r.Resource},
		decide: func(_ *settings.Values, now machine.Instant, row machine.Row, _ *machine.Row, _ machine.Fresh) machine.Outcome {
			return machine.Break(now, r, row, machine.Standard)
		},
	})
	if err != nil {
		return leasehold.Lease{}, err
	}
	return res.out.Row.Lease(res.now), nil
}

// ReleaseHolder implements leasehold.HolderReleaser.
func (s *Store) ReleaseHolder(ctx context.Context, holder, why string) (int, error) {
	err := leasehold.ReleaseRequest{ID: leasehold.NewID(), Holder: holder, Why: why}.Validate()
	if err == nil {
		err = leasehold.CheckHolder(holder)
	}
	if err != nil {
		return 0, s.failures.Invalid("force-release", "", err)
	}
	var freed []string
	err = s.change(ctx, "force-release", Need{Holder: holder}, func(v *settings.Values, f Found) (w Write) {
		freed = nil
		w.Version = newVersion()
		for _, row := range f.Rows {
			out := machine.ForceRelease(f.Now, row, why)
			s.addSteps(&w, v, f.Now, out.Steps)
			if out.Reason == "" {
				freed = append(freed, row.Resource)
			}
		}
		return w
	})
	if err != nil {
		return 0, err
	}
	for _, resource := range freed {
		s.queues.Wake(resource)
	}
	return len(freed), nil
}

// addSteps adds what one row's steps store.
func (s *Store) addSteps(w *Write, v *settings.Values, now machine.Instant, steps []machine.Step) {
	if len(steps) == 0 {
		return
	}
	w.Rows = append(w.Rows, steps[len(steps)-1].Row)
	records, kept := s.records(v, now, steps)
	w.Records, w.Kept = append(w.Records, records...), append(w.Kept, kept...)
}
