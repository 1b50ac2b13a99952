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
	o := newOutcome(now, own, r.ID)
	for _, c := range conflicts {
		if c.Resource != r.Resource {
			o = o.expire(now, c)
		}
	}
	if o.SameID && o.Row.State == leasehold.StateActive && o.Row.Holder == r.Holder {
		o.Idempotent = true // a repeated acquire of the lease already held is a renewal
		return extend(now, o, r.TTL)
	}
	if reason := unusable(now, r.ID, known, o.Row, p); reason != "" {
		return o.refuse(reason)
	}
	for _, c := range conflicts {
		switch c.At(now).State {
		case leasehold.StateActive:
			return o.refuse(leasehold.ReasonHeld)
		case leasehold.StateBreaking:
			return o.refuse(leasehold.ReasonBreaking)
		}
	}
	return grant(now, o, r, fresh, p)
}

// unusable says why a proposed id cannot start a new lease; empty if it can.
func unusable(now Instant, id leasehold.ID, known *Row, own Row, p Policy) leasehold.Reason {
	if known == nil || p.ReuseID || id.IsZero() {
		return ""
	}
	k := known.At(now)
	switch {
	case k.ID != id: // it is the former id of a changed or transferred lease
		return leasehold.ReasonReleased
	case !k.State.Locked():
		return endReason(k.State)
	case k.Resource != own.Resource:
		return leasehold.ReasonIDInUse
	}
	return "" // live here: the conflict answers
}

func grant(now Instant, o Outcome, r leasehold.AcquireRequest, fresh Fresh, p Policy) Outcome {
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
	return o.step(next, leasehold.KindAcquired, "")
}
