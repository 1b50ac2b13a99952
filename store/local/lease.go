package local

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// Acquire implements leasehold.Store.
func (e *Engine) Acquire(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	invalid := r.ValidateAll()
	r = copyRequest(r)
	id := freshID(r.ID)
	out, now, err := e.execute(ctx, "acquire", r.Resource, invalid, func(now machine.Instant) machine.Outcome {
		r = e.config.Fill(r)
		if no := e.config.RefuseTTL(r.Resource, r.TTL); no.Reason != "" {
			return no
		}
		return e.tryAcquire(now, r, id, nil)
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

// copyRequest detaches the request from what the caller may change, and cuts its ttl
// to whole milliseconds.
func copyRequest(r leasehold.AcquireRequest) leasehold.AcquireRequest {
	r.TTL = wholeMillis(r.TTL)
	r.Metadata = maps.Clone(r.Metadata)
	r.Claims = slices.Clone(r.Claims)
	if len(r.Claims) == 0 {
		r.Claims = nil // a plain name
	}
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
		if no := e.config.RefuseTTL(row.Resource, r.TTL); no.Reason != "" {
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
	out, now, err := e.execute(ctx, "release", r.Resource, r.ValidateAll(), func(now machine.Instant) machine.Outcome {
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
	invalid := r.ValidateAll()
	r.Metadata = maps.Clone(r.Metadata)
	id := freshID(r.Proposed)
	out, now, err := e.execute(ctx, "transfer", r.Resource, invalid, func(now machine.Instant) machine.Outcome {
		return e.checkTransfer(now, machine.Transfer(now, r, e.fresh(id), e.byID(r.ID, r.Resource), e.table.known(r.Proposed), machine.Standard))
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
		return e.breakLease(now, r)
	})
	if err != nil {
		return leasehold.Lease{}, err
	}
	return out.Row.Lease(now), nil
}

// breakLease breaks the lease on the resource; if that is none but there are sets that
// have it, all of them. The outcome is of the one that ends last.
func (s *state) breakLease(now machine.Instant, r leasehold.BreakRequest) machine.Outcome {
	row := s.table.row(r.Resource)
	sets := s.setsOn(now, r.Resource)
	if row.At(now).State.Locked() || len(sets) == 0 {
		return machine.Break(now, r, row, machine.Standard)
	}
	slices.SortFunc(sets, func(a, b machine.Row) int { return cmp.Compare(a.Ends, b.Ends) })
	last := len(sets) - 1
	out := machine.Break(now, r, sets[last], machine.Standard)
	for _, set := range sets[:last] { // all before any waiter: an upgrade could get one that is still to be broken
		out.Steps = append(out.Steps, machine.Break(now, r, set, machine.Standard).Steps...)
	}
	return out
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
	var waiters []shownWaiter
	var last *position
	var more bool
	_, _, err := e.execute(ctx, "status", "", leasehold.CheckResource(resource), func(now machine.Instant) machine.Outcome {
		row := e.table.row(resource)
		if row.State != leasehold.StateAvailable {
			status.Lease = new(row.Lease(now))
		}
		waiters = e.showSets(now, row, &status)
		more = e.appendWaiters(resource, &waiters, &last)
		if status.Leases != nil || e.batches.changeSets() {
			return machine.Outcome{} // it depends on other rows, also on sets that have ended
		}
		return machine.Outcome{Row: row}
	})
	if err != nil {
		return leasehold.Status{Resource: resource}, err
	}
	for more {
		e.mu.Lock()
		more = e.appendWaiters(resource, &waiters, &last)
		e.mu.Unlock()
	}
	status.Waiters = numberWaiters(waiters)
	return status, nil
}

// showSets adds to the status the sets that have the resource, and returns the waiters
// for sets that do.
func (s *state) showSets(now machine.Instant, row machine.Row, status *leasehold.Status) (waiters []shownWaiter) {
	if sets := s.setsOn(now, row.Resource); len(sets) > 0 {
		if status.Locked() {
			sets = append(sets, row)
		}
		for _, set := range sets {
			status.Leases = append(status.Leases, set.Lease(now))
		}
		slices.SortFunc(status.Leases, func(a, b leasehold.Lease) int { return cmp.Compare(a.Token, b.Token) })
		if !status.Locked() {
			status.Lease = &status.Leases[0]
		}
	}
	for _, p := range s.waitingFor(row.Covers()) {
		waiters = append(waiters, show(p))
	}
	return waiters
}

// ReleaseHolder implements leasehold.HolderReleaser.
func (e *Engine) ReleaseHolder(ctx context.Context, holder, why string) (int, error) {
	return e.releaseHolder(ctx, holder, why, false)
}

// ReleaseWithChildren implements leasehold.ChildReleaser.
func (e *Engine) ReleaseWithChildren(ctx context.Context, holder, why string) (int, error) {
	return e.releaseHolder(ctx, holder, why, true)
}

func (e *Engine) releaseHolder(ctx context.Context, holder, why string, children bool) (int, error) {
	invalid := cmp.Or(
		leasehold.ReleaseRequest{ID: leasehold.NewID(), Holder: holder, Why: why}.Validate(),
		leasehold.CheckHolder(holder))
	released := 0
	_, _, err := e.execute(ctx, "force-release", "", invalid, func(now machine.Instant) machine.Outcome {
		var rows []machine.Row
		add := func(ent *entry) bool {
			if ent.row.State.Locked() {
				rows = append(rows, ent.row)
			}
			return true
		}
		e.table.ofHolder(holder, "", add)
		if children {
			e.table.ofChildren(holder, add)
		}
		var all machine.Outcome
		for _, row := range rows { // in one step: a grant in between could change the next row
			out := machine.ForceRelease(now, row, why)
			if all.Steps = append(all.Steps, out.Steps...); out.Reason == "" {
				released++
			}
		}
		return all
	})
	if err != nil {
		return 0, err
	}
	return released, nil
}
