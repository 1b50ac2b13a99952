package machine

import (
	"time"

	"github.com/leasehold/leasehold"
)

// Renew restarts the ttl of an active lease.
func Renew(now Instant, r leasehold.RenewRequest, fresh Fresh, row Row, p Policy) Outcome {
	o := newOutcome(now, row, r.ID)
	if reason := match(o.Row, r.ID, r.Holder, r.Token); reason != "" {
		return o.refuse(reason)
	}
	switch o.Row.State {
	case leasehold.StateActive:
		return extend(now, o, r.TTL)
	case leasehold.StateBreaking:
		return o.refuse(leasehold.ReasonBreaking)
	case leasehold.StateExpired:
		if p.Revive {
			return revive(now, o, r.TTL, fresh)
		}
	}
	return o.refuse(endReason(o.Row.State))
}

// extend restarts the ttl from now: counting from an earlier end or from the
// first grant would let the lease grow with each renewal.
func extend(now Instant, o Outcome, ttl time.Duration) Outcome {
	next := o.Row
	if next.MaxRenewals != leasehold.Unlimited && next.Renewals >= next.MaxRenewals {
		return o.refuse(leasehold.ReasonMaxRenewals)
	}
	if ttl != 0 {
		next.TTL = ttl
	}
	next.Ends = now.after(next.TTL)
	next.Renewed = now.Wall
	next.Renewals++
	return o.step(next, leasehold.KindRenewed, "")
}

// revive is a new grant to the old holder. It needs a new token: others may
// have acted in between.
func revive(now Instant, o Outcome, ttl time.Duration, fresh Fresh) Outcome {
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
	o = o.step(next, leasehold.KindAcquired, "")
	o.Steps[len(o.Steps)-1].Details = map[string]string{"revived": "true"}
	return o
}
