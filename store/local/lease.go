package local

import (
	"cmp"
	"context"
	"maps"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// Acquire implements leasehold.Store.
func (e *Engine) Acquire(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	invalid := r.Validate()
	r = copyRequest(r)
	id := freshID(r.ID)
	out, now, err := e.execute(ctx, "acquire", r.Resource, invalid, func(now machine.Instant) machine.Outcome {
		r = e.config.fill(r)
		if no := e.config.refuseTTL(r.Resource, r.TTL); no.Reason != "" {
			return no
		}
		return e.tryAcquire(now, r, id)
	})
	return e.grant(r, out, now, err)
}

// grant turns the outcome of an acquire into its answer.
func (e *Engine) grant(r leasehold.AcquireRequest, out machine.Outcome, now machine.Instant, err error) (leasehold.Grant, error) {
	if out.Granted && r.ID.IsZero() && leasehold.ReasonOf(err) == leasehold.ReasonUnknown {
		e.mu.Lock()
		e.releaseUnclaimed(e.clock.now(), out.Row) // nobody will ever know its id
		e.mu.Unlock()
	}
	if err != nil {
		return leasehold.Grant{}, e.opError("acquire", r.Resource, err)
	}
	return leasehold.Grant{Lease: out.Row.Owned(now), Idempotent: out.Idempotent}, nil
}

// copyRequest detaches the request from the caller's map, and cuts its ttl to
// whole milliseconds.
func copyRequest(r leasehold.AcquireRequest) leasehold.AcquireRequest {
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

// freshID makes an id where none was proposed. Requests call it before they take
// the lock: randomness is slow.
func freshID(proposed leasehold.ID) leasehold.ID {
	if proposed.IsZero() {
		return leasehold.NewID()
	}
	return leasehold.ID{}
}

// Renew implements leasehold.Store.
func (e *Engine) Renew(ctx context.Context, r leasehold.RenewRequest) (leasehold.Lease, error) {
	invalid := r.Validate()
	r.TTL = wholeMillis(r.TTL)
	out, now, err := e.execute(ctx, "renew", r.Resource, invalid, func(now machine.Instant) machine.Outcome {
		row := e.byID(r.ID, r.Resource)
		if no := e.config.refuseTTL(row.Resource, r.TTL); no.Reason != "" {
			return no
		}
		return machine.Renew(now, r, e.fresh(leasehold.ID{}), row, machine.Standard)
	})
	if err != nil {
		return leasehold.Lease{}, err
	}
	return out.Row.Owned(now), nil
}

// Release implements leasehold.Store.
func (e *Engine) Release(ctx context.Context, r leasehold.ReleaseRequest) (leasehold.Lease, error) {
	out, now, err := e.execute(ctx, "release", r.Resource, r.Validate(), func(now machine.Instant) machine.Outcome {
		return machine.Release(now, r, e.byID(r.ID, r.Resource), machine.Standard)
	})
	if err != nil {
		return leasehold.Lease{}, err
	}
	return out.Row.Owned(now), nil
}

// Change implements leasehold.Changer.
func (e *Engine) Change(ctx context.Context, r leasehold.ChangeRequest) (leasehold.Lease, error) {
	out, now, err := e.execute(ctx, "change", r.Resource, r.Validate(), func(now machine.Instant) machine.Outcome {
		return machine.Change(now, r, e.byID(r.ID, r.Resource), e.table.known(r.Proposed), machine.Standard)
	})
	if err != nil {
		return leasehold.Lease{}, err
	}
	return out.Row.Owned(now), nil
}

// Transfer implements leasehold.Transferer.
func (e *Engine) Transfer(ctx context.Context, r leasehold.TransferRequest) (leasehold.Lease, error) {
	invalid := r.Validate()
	r.Metadata = maps.Clone(r.Metadata)
	id := freshID(r.Proposed)
	out, now, err := e.execute(ctx, "transfer", r.Resource, invalid, func(now machine.Instant) machine.Outcome {
		return machine.Transfer(now, r, e.fresh(id), e.byID(r.ID, r.Resource), e.table.known(r.Proposed), machine.Standard)
	})
	switch {
	case err != nil:
		return leasehold.Lease{}, err
	case r.Proposed.IsZero():
		return out.Row.Owned(now), nil
	}
	return out.Row.Lease(now), nil // the new holder's secret is not echoed
}

// Break implements leasehold.Breaker.
func (e *Engine) Break(ctx context.Context, r leasehold.BreakRequest) (leasehold.Lease, error) {
	out, now, err := e.execute(ctx, "break", r.Resource, r.Validate(), func(now machine.Instant) machine.Outcome {
		return machine.Break(now, r, e.table.row(r.Resource), machine.Standard)
	})
	if err != nil {
		return leasehold.Lease{}, err
	}
	return out.Row.Lease(now), nil
}

// Find implements leasehold.Finder.
func (e *Engine) Find(ctx context.Context, id leasehold.ID) (leasehold.Lease, error) {
	invalid := leasehold.RenewRequest{ID: id}.Validate()
	out, now, err := e.execute(ctx, "find", "", invalid, func(now machine.Instant) machine.Outcome {
		row := e.byID(id, "")
		if row.ID != id {
			return machine.Outcome{Reason: leasehold.ReasonNotFound}
		}
		return machine.Outcome{Row: row}
	})
	if err != nil {
		return leasehold.Lease{}, err
	}
	return out.Row.Owned(now), nil
}

// Status implements leasehold.Store. A long queue is copied in steps.
func (e *Engine) Status(ctx context.Context, resource string) (leasehold.Status, error) {
	status := leasehold.Status{Resource: resource}
	var last *position
	var more bool
	_, _, err := e.execute(ctx, "status", "", leasehold.CheckResource(resource), func(now machine.Instant) machine.Outcome {
		row := e.table.row(resource)
		if row.State != leasehold.StateAvailable {
			lease := row.Lease(now)
			status.Lease = &lease
		}
		more = e.appendWaiters(resource, &status.Waiters, &last)
		return machine.Outcome{Row: row}
	})
	if err != nil {
		return leasehold.Status{Resource: resource}, err
	}
	for more {
		e.mu.Lock()
		more = e.appendWaiters(resource, &status.Waiters, &last)
		e.mu.Unlock()
	}
	return status, nil
}

// ReleaseHolder implements leasehold.HolderReleaser.
func (e *Engine) ReleaseHolder(ctx context.Context, holder, why string) (int, error) {
	invalid := cmp.Or(
		leasehold.ReleaseRequest{ID: leasehold.NewID(), Holder: holder, Why: why}.Validate(),
		leasehold.CheckHolder(holder))
	released := 0
	_, _, err := e.execute(ctx, "force-release", "", invalid, func(now machine.Instant) machine.Outcome {
		// Collect first: granting to waiters changes the index under the loop.
		var rows []machine.Row
		e.table.ofHolder(holder, "", func(ent *entry) bool {
			if ent.row.State.Locked() {
				rows = append(rows, ent.row)
			}
			return true
		})
		for _, row := range rows {
			out := machine.ForceRelease(now, row, why)
			if e.apply(now, out); out.Reason == "" {
				released++
			}
		}
		return machine.Outcome{}
	})
	if err != nil {
		return 0, err
	}
	return released, nil
}
