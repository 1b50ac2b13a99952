package local

import (
	"context"
	"maps"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// Acquire implements leasehold.Store.
func (e *Engine) Acquire(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	if err := r.Validate(); err != nil {
		return leasehold.Grant{}, e.explain("acquire", r.Resource, err)
	}
	r = own(r)
	id := freshID(r.ID)
	out, now, err := e.act(ctx, "acquire", func(now machine.Instant) machine.Outcome {
		r = e.config.fill(r)
		if no := e.config.refuseTTL(r.Resource, r.TTL); no.Reason != "" {
			return no
		}
		return e.tryAcquire(now, r, id)
	})
	return e.granted(r, out, now, err)
}

// granted turns the outcome of an acquire into its answer.
func (e *Engine) granted(r leasehold.AcquireRequest, out machine.Outcome, now machine.Instant, err error) (leasehold.Grant, error) {
	if leasehold.ReasonOf(err) == leasehold.ReasonUnknown && r.ID.IsZero() {
		e.abandon(out) // nobody will ever know its id
	}
	if err != nil {
		return leasehold.Grant{}, e.explain("acquire", r.Resource, err)
	}
	return leasehold.Grant{Lease: out.Row.Owned(now), Idempotent: out.Idempotent}, nil
}

// own detaches the request from the caller's map.
func own(r leasehold.AcquireRequest) leasehold.AcquireRequest {
	r.TTL = whole(r.TTL)
	r.Metadata = maps.Clone(r.Metadata)
	return r
}

// freshID makes an id where none was proposed. It is drawn before the lock is
// taken: randomness is slow.
func freshID(proposed leasehold.ID) leasehold.ID {
	if proposed.IsZero() {
		return leasehold.NewID()
	}
	return leasehold.ID{}
}

// tryAcquire runs the machine. The lock is held and the request filled in.
func (e *Engine) tryAcquire(now machine.Instant, r leasehold.AcquireRequest, id leasehold.ID) machine.Outcome {
	fresh := e.fresh(id)
	e.limit(now, r.Resource, r.Caller, &fresh)
	conflicts := []machine.Row{e.table.row(r.Resource)}
	return machine.Acquire(now, r, fresh, conflicts, e.table.known(r.ID), machine.Standard)
}

func (e *Engine) fresh(id leasehold.ID) machine.Fresh {
	return machine.Fresh{Token: e.token + 1, ID: id}
}

// abandon gives back a grant that nobody received.
func (e *Engine) abandon(out machine.Outcome) {
	if !out.Granted {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.giveBack(e.now(), out.Row)
}

// giveBack releases the row's lease, if it still is. While nothing can be
// decided it is put off: whether there is anything to release is not known.
func (e *Engine) giveBack(now machine.Instant, row machine.Row) {
	if e.down != nil {
		e.orphans = append(e.orphans, row)
		return
	}
	r := leasehold.ReleaseRequest{ID: row.ID, Why: leasehold.WhyAbandoned}
	e.apply(now, machine.Release(now, r, e.table.row(row.Resource), machine.Standard))
}

// Renew implements leasehold.Store.
func (e *Engine) Renew(ctx context.Context, r leasehold.RenewRequest) (leasehold.Lease, error) {
	if err := r.Validate(); err != nil {
		return leasehold.Lease{}, e.explain("renew", r.Resource, err)
	}
	r.TTL = whole(r.TTL)
	out, now, err := e.act(ctx, "renew", func(now machine.Instant) machine.Outcome {
		row := e.find(r.ID, r.Resource)
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
	if err := r.Validate(); err != nil {
		return leasehold.Lease{}, e.explain("release", r.Resource, err)
	}
	out, now, err := e.act(ctx, "release", func(now machine.Instant) machine.Outcome {
		return machine.Release(now, r, e.find(r.ID, r.Resource), machine.Standard)
	})
	if err != nil {
		return leasehold.Lease{}, err
	}
	return out.Row.Owned(now), nil
}

// Change implements leasehold.Changer.
func (e *Engine) Change(ctx context.Context, r leasehold.ChangeRequest) (leasehold.Lease, error) {
	if err := r.Validate(); err != nil {
		return leasehold.Lease{}, e.explain("change", r.Resource, err)
	}
	out, now, err := e.act(ctx, "change", func(now machine.Instant) machine.Outcome {
		return machine.Change(now, r, e.find(r.ID, r.Resource), e.table.known(r.Proposed), machine.Standard)
	})
	if err != nil {
		return leasehold.Lease{}, err
	}
	return out.Row.Owned(now), nil
}

// Transfer implements leasehold.Transferer.
func (e *Engine) Transfer(ctx context.Context, r leasehold.TransferRequest) (leasehold.Lease, error) {
	if err := r.Validate(); err != nil {
		return leasehold.Lease{}, e.explain("transfer", r.Resource, err)
	}
	r.Metadata = maps.Clone(r.Metadata)
	id := freshID(r.Proposed)
	out, now, err := e.act(ctx, "transfer", func(now machine.Instant) machine.Outcome {
		return machine.Transfer(now, r, e.fresh(id), e.find(r.ID, r.Resource), e.table.known(r.Proposed), machine.Standard)
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
	if err := r.Validate(); err != nil {
		return leasehold.Lease{}, e.explain("break", r.Resource, err)
	}
	out, now, err := e.act(ctx, "break", func(now machine.Instant) machine.Outcome {
		return machine.Break(now, r, e.table.row(r.Resource), machine.Standard)
	})
	if err != nil {
		return leasehold.Lease{}, err
	}
	return out.Row.Lease(now), nil
}

// Find implements leasehold.Finder.
func (e *Engine) Find(ctx context.Context, id leasehold.ID) (leasehold.Lease, error) {
	if id.IsZero() {
		err := leasehold.RenewRequest{}.Validate() // the words for a missing id
		return leasehold.Lease{}, e.explain("find", "", err)
	}
	out, now, err := e.act(ctx, "find", func(now machine.Instant) machine.Outcome {
		row := e.find(id, "")
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

// find returns the row known by the id, or one that no id matches. A resource
// that was sent must be the row's.
func (e *Engine) find(id leasehold.ID, resource string) machine.Row {
	row := e.table.known(id)
	if row == nil || resource != "" && row.Resource != resource {
		return machine.Row{Resource: resource}
	}
	return *row
}

// ReleaseHolder implements leasehold.HolderReleaser.
func (e *Engine) ReleaseHolder(ctx context.Context, holder, why string) (int, error) {
	if err := (leasehold.ReleaseRequest{ID: leasehold.NewID(), Holder: holder, Why: why}).Validate(); err != nil {
		return 0, e.explain("force-release", "", err)
	}
	if err := leasehold.CheckHolder(holder); err != nil {
		return 0, e.explain("force-release", "", err)
	}
	released := 0
	_, _, err := e.act(ctx, "force-release", func(now machine.Instant) machine.Outcome {
		// Collect first: serving a queue changes the index under the loop.
		var rows []machine.Row
		e.table.held(holder, "", func(ent *entry) bool {
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
