package machine

import "github.com/leasehold/leasehold"

// Acquire grants a lease unless a conflicting row is locked.
//
// The request's TTL and MaxRenewals must be filled in: defaults are the
// store's. Conflicts are the rows whose claims overlap with the request's;
// today that is the row of the resource itself, if there is one. Known is the
// row by which the store knows the proposed id, if any and not Scoped.
func Acquire(now Instant, r leasehold.AcquireRequest, fresh Fresh, conflicts []Row, known *Row, p Policy) Outcome {
	own := Row{Resource: r.Resource}
	for _, c := range conflicts {
		if c.Resource == r.Resource {
			own = c
		}
	}
	o := begin(now, own, r.ID)
	for _, c := range conflicts {
		if c.Resource != r.Resource {
			o = o.settle(now, c)
		}
	}
	if o.SameID && o.Row.State == leasehold.StateActive && o.Row.Holder == r.Holder {
		return o.reacquire(now, r)
	}
	if reason := spent(now, r.ID, known, o.Row, p); reason != "" {
		return o.no(reason)
	}
	for _, c := range conflicts {
		switch c.At(now).State {
		case leasehold.StateActive:
			return o.no(leasehold.ReasonHeld)
		case leasehold.StateBreaking:
			return o.no(leasehold.ReasonBreaking)
		}
	}
	return o.grant(now, r, fresh, p)
}

// reacquire answers a repeated acquire of the lease already held: a renewal.
func (o Outcome) reacquire(now Instant, r leasehold.AcquireRequest) Outcome {
	o.Idempotent = true
	return o.extend(now, r.TTL)
}

// spent says whether a proposed id cannot start a new lease.
func spent(now Instant, id leasehold.ID, known *Row, own Row, p Policy) leasehold.Reason {
	if known == nil || p.ReuseID || id.IsZero() {
		return ""
	}
	k := known.At(now)
	switch {
	case k.ID != id: // it is the former id of a changed or transferred lease
		return leasehold.ReasonReleased
	case !k.State.Locked():
		return ended(k.State)
	case k.Resource != own.Resource:
		return leasehold.ReasonIDInUse
	}
	return "" // live here: the conflict answers
}

func (o Outcome) grant(now Instant, r leasehold.AcquireRequest, fresh Fresh, p Policy) Outcome {
	if fresh.Full != "" {
		return o.tooMany(fresh)
	}
	next := Row{
		Resource:    r.Resource,
		Holder:      r.Holder,
		ID:          r.ID,
		Token:       fresh.Token,
		State:       leasehold.StateActive,
		TTL:         r.TTL,
		Ends:        now.after(r.TTL),
		Acquired:    now.Wall,
		Renewed:     now.Wall,
		MaxRenewals: int32(*r.MaxRenewals),
		Metadata:    r.Metadata,
		Caller:      r.Caller,
		Scoped:      p.ScopedIDs,
	}
	if next.ID.IsZero() {
		next.ID = fresh.ID
	}
	o.Granted = true
	return o.to(next, leasehold.KindAcquired, "")
}
