package machine

import (
	"slices"

	"github.com/leasehold/leasehold"
)

// Reservation is what a waiter keeps free that is served before a request.
type Reservation struct {
	Holder string
	Claims []leasehold.Claim
}

// Acquire grants a lease unless a conflicting row is locked.
//
// The request's TTL and MaxRenewals must be filled in: defaults are the
// store's. Conflicts are the rows whose claims may overlap with the request's, in any
// mode: those of live leases, and those with notes. Where there are no sets, that is
// the row of the resource itself, if there is one. Known is the row by which the store
// knows the proposed id, if any and not Scoped.
func Acquire(now Instant, r leasehold.AcquireRequest, fresh Fresh, conflicts []Row, known *Row, p Policy) Outcome {
	return AcquireBehind(now, r, fresh, conflicts, nil, known, p)
}

// AcquireBehind is Acquire behind waiters, which are served first.
func AcquireBehind(now Instant, r leasehold.AcquireRequest, fresh Fresh, conflicts []Row, ahead []Reservation, known *Row, p Policy) Outcome {
	if len(r.Claims) == 0 {
		r.Claims = nil // an empty list is none
	}
	o := newOutcome(now, ownRow(&r, conflicts, known), r.ID)
	for i := range conflicts {
		if conflicts[i].Resource != o.Row.Resource {
			o = o.expire(now, conflicts[i])
		}
	}
	own := o.SameID && o.Row.State == leasehold.StateActive && o.Row.Holder == r.Holder
	if own && slices.Equal(o.Row.Claims, r.Claims) {
		o.Idempotent = true // a repeated acquire of the lease already held is a renewal
		return extend(now, o, r.TTL)
	}
	if reason := unusable(now, r.ID, known, o.Row.Resource, p); reason != "" {
		return o.refuse(reason)
	}
	if o.Reason = o.block(now, &r, conflicts, own); o.Reason != "" {
		return o
	}
	if own { // it waits for nobody who waits for it
		return changeModes(now, o, r, fresh)
	}
	if o.Reason = o.yield(&r, ahead); o.Reason != "" {
		return o
	}
	return grant(now, o, &r, fresh, conflicts, p)
}

// ownRow is the row that a grant would replace: of the resource, or of the set with
// this id.
func ownRow(r *leasehold.AcquireRequest, conflicts []Row, known *Row) Row {
	if r.Claims != nil {
		if known != nil && known.ID == r.ID && SamePatterns(known.Claims, r.Claims) {
			return *known
		}
		return Row{Claims: r.Claims}
	}
	for i := range conflicts {
		if conflicts[i].Resource == r.Resource {
			return conflicts[i]
		}
	}
	return Row{Resource: r.Resource}
}

// unusable says why a proposed id cannot start a new lease on the resource; empty if it
// can.
func unusable(now Instant, id leasehold.ID, known *Row, resource string, p Policy) leasehold.Reason {
	if known == nil || p.ReuseID || id.IsZero() {
		return ""
	}
	k := known.At(now)
	switch {
	case k.ID != id: // it is the former id of a changed or transferred lease
		return leasehold.ReasonReleased
	case !k.State.Locked():
		return endReason(k.State)
	case k.Resource != resource:
		return leasehold.ReasonIDInUse
	}
	return "" // live here: the conflict answers
}

// block returns the reason to refuse if a live lease is in the way: any on the row
// itself, unless it is the caller's own, and those of the conflicts whose claims exclude
// the request's.
func (o *Outcome) block(now Instant, r *leasehold.AcquireRequest, conflicts []Row, own bool) leasehold.Reason {
	if !own && o.Row.State.Locked() {
		if o.Row.Claims != nil { // the patterns are the same, or it would not be its row
			o.Overlap = &leasehold.Overlap{Requested: r.Claims[0], Held: o.Row.Claims[0], Part: r.Claims[0].Pattern}
		}
		return lockedReason(o.Row.State)
	}
	for i := range conflicts {
		c := &conflicts[i]
		if c.Resource == o.Row.Resource || !c.State.Locked() || c.Ends <= now.Clock {
			continue
		}
		if place, ok := Conflict(Covers(r.Resource, r.Claims), c.Covers()); ok {
			o.Blocker, o.Overlap = new(*c), new(place) // copies, so that conflicts need no heap
			return lockedReason(c.State)
		}
	}
	return ""
}

func lockedReason(s leasehold.State) leasehold.Reason {
	if s == leasehold.StateBreaking {
		return leasehold.ReasonBreaking
	}
	return leasehold.ReasonHeld
}

// yield returns the reason to refuse if a waiter ahead keeps a part of it free.
func (o *Outcome) yield(r *leasehold.AcquireRequest, ahead []Reservation) leasehold.Reason {
	for _, a := range ahead {
		if place, ok := Conflict(Covers(r.Resource, r.Claims), a.Claims); ok {
			o.Reserved, o.Overlap = a.Holder, new(place)
			return leasehold.ReasonHeld
		}
	}
	return ""
}
