package machine

import (
	"time"

	"github.com/leasehold/leasehold"
)

// Renew restarts the ttl of an active lease.
func Renew(now Instant, r leasehold.RenewRequest, fresh Fresh, row Row, p Policy) Outcome {
	o := begin(now, row, r.ID)
	if reason := match(o.Row, r.ID, r.Holder, r.Token); reason != "" {
		return o.no(reason)
	}
	switch o.Row.State {
	case leasehold.StateActive:
		return o.extend(now, r.TTL)
	case leasehold.StateBreaking:
		return o.no(leasehold.ReasonBreaking)
	case leasehold.StateExpired:
		if p.Revive {
			return o.revive(now, r.TTL, fresh)
		}
	}
	return o.no(ended(o.Row.State))
}

// extend restarts the ttl from now: counting from an earlier end or from the
// first grant would let the lease grow with each renewal.
func (o Outcome) extend(now Instant, ttl time.Duration) Outcome {
	next := o.Row
	if next.MaxRenewals != leasehold.Unlimited && next.Renewals >= next.MaxRenewals {
		return o.no(leasehold.ReasonMaxRenewals)
	}
	if ttl != 0 {
		next.TTL = ttl
	}
	next.Ends = now.after(next.TTL)
	next.Renewed = now.Wall
	next.Renewals++
	return o.to(next, leasehold.KindRenewed, "")
}

// revive is a new grant to the old holder: others may have acted in between,
// so the old token must not be worth anything any more.
func (o Outcome) revive(now Instant, ttl time.Duration, fresh Fresh) Outcome {
	if fresh.Full != "" {
		return o.tooMany(fresh)
	}
	next := o.Row
	if ttl != 0 {
		next.TTL = ttl
	}
	next.State = leasehold.StateActive
	next.Token = fresh.Token
	next.Ends = now.after(next.TTL)
	next.Acquired, next.Renewed, next.Renewals = now.Wall, now.Wall, 0
	o.Granted = true
	o = o.to(next, leasehold.KindAcquired, "")
	o.Steps[len(o.Steps)-1].Details = map[string]string{"revived": "true"}
	return o
}

// Release ends an active or breaking lease.
func Release(now Instant, r leasehold.ReleaseRequest, row Row, p Policy) Outcome {
	o := begin(now, row, r.ID)
	if reason := match(o.Row, r.ID, r.Holder, r.Token); reason != "" {
		return o.no(reason)
	}
	switch o.Row.State {
	case leasehold.StateActive, leasehold.StateBreaking:
		return o.end(now, leasehold.StateReleased, leasehold.KindReleased, r.Why)
	case leasehold.StateExpired, leasehold.StateBroken:
		if p.ReleaseEnded {
			return o.end(now, leasehold.StateReleased, leasehold.KindReleased, r.Why)
		}
	}
	return o.no(ended(o.Row.State))
}

// ForceRelease ends a live lease on an operator's word.
func ForceRelease(now Instant, row Row, why string) Outcome {
	o := begin(now, row, leasehold.ID{})
	if !o.Row.State.Locked() {
		return o.no(ended(o.Row.State))
	}
	return o.end(now, leasehold.StateReleased, leasehold.KindForceReleased, why)
}

// end ends the lease now. One that has ended already did so when it did. The
// answer still has the metadata, the row that is kept has none.
func (o Outcome) end(now Instant, state leasehold.State, kind leasehold.Kind, why string) Outcome {
	next, metadata := o.Row, o.Row.Metadata
	next.State = state
	next.Ends = min(now.Clock, next.Ends)
	next.Metadata = nil
	o = o.to(next, kind, why)
	o.Row.Metadata = metadata
	return o
}

// Change swaps the id of an active lease. Known is the row by which the store
// knows the proposed id, as in Acquire.
func Change(now Instant, r leasehold.ChangeRequest, row Row, known *Row, p Policy) Outcome {
	o := begin(now, row, r.ID)
	if o.Row.State == leasehold.StateActive && r.Proposed == o.Row.ID && (p.ChangeToCurrent || repeats(o.Row, r.ID, false)) {
		if reason := matchSent(o.Row, r.Holder, r.Token); reason != "" {
			return o.no(reason)
		}
		o.Idempotent = true
		return o
	}
	if reason := match(o.Row, r.ID, r.Holder, r.Token); reason != "" {
		return o.no(reason)
	}
	if o = o.mayHand(now, r.Proposed, known, p); o.Reason != "" {
		return o
	}
	if r.Proposed == o.Row.ID {
		o.Idempotent = true
		return o
	}
	next := o.Row
	next.ID, next.Former, next.Handed = r.Proposed, o.Row.ID, false
	return o.to(next, leasehold.KindChanged, "")
}

// Transfer hands an active lease to another holder. Known is as in Acquire.
func Transfer(now Instant, r leasehold.TransferRequest, fresh Fresh, row Row, known *Row, p Policy) Outcome {
	o := begin(now, row, r.ID)
	if o.Row.State == leasehold.StateActive && r.Proposed == o.Row.ID && r.To == o.Row.Holder && repeats(o.Row, r.ID, true) {
		o.Idempotent = true
		return o
	}
	if reason := match(o.Row, r.ID, r.Holder, r.Token); reason != "" {
		return o.no(reason)
	}
	if r.To == o.Row.Holder {
		o.Field, o.Problem = "to_holder", "holds the lease already; name another holder"
		return o.no(leasehold.ReasonInvalid)
	}
	if o = o.mayHand(now, r.Proposed, known, p); o.Reason != "" {
		return o
	}
	if r.Proposed == o.Row.ID { // the old holder would keep the secret
		return o.no(leasehold.ReasonIDInUse)
	}
	next := o.Row
	next.Holder, next.Token = r.To, fresh.Token
	next.Acquired, next.Renewed = now.Wall, now.Wall // since when the new holder has it
	next.ID, next.Former, next.Handed = r.Proposed, o.Row.ID, true
	if next.ID.IsZero() {
		next.ID = fresh.ID
	}
	if r.Metadata != nil {
		next.Metadata = r.Metadata
	}
	o.Granted = true
	o = o.to(next, leasehold.KindTransferred, "")
	o.Steps[len(o.Steps)-1].Details = map[string]string{"from": row.Holder}
	return o
}

// repeats reports whether a change or transfer that shows this id was carried
// out before.
func repeats(row Row, shown leasehold.ID, handed bool) bool {
	return shown == row.Former && !shown.IsZero() && row.Handed == handed
}

// mayHand refuses if the lease cannot get the proposed id. Where it is the
// proposal that is at fault, Field says so: the lease itself is well.
func (o Outcome) mayHand(now Instant, proposed leasehold.ID, known *Row, p Policy) Outcome {
	switch o.Row.State {
	case leasehold.StateActive:
	case leasehold.StateBreaking:
		return o.no(leasehold.ReasonBreaking)
	default:
		return o.no(ended(o.Row.State))
	}
	if reason := spent(now, proposed, known, o.Row, p); reason != "" {
		o.Field = "proposed_lease_id"
		return o.no(reason)
	}
	return o
}
