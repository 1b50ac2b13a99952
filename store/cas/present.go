package cas

import (
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// lease is the row's lease as it stands at now, without its id. What remains is
// the least that may be true: the grain by which the service ends a lease late
// is not shown, and its clock may be a grain behind.
func (s *Store) lease(row machine.Row, now machine.Instant) leasehold.Lease {
	return shorten(row.Lease(now), now, 2*s.traits.Grain)
}

// owned is lease with the id: for answers to the lease's owner only. If its time
// has just started, all of it remains: the owner counts from before the call.
func (s *Store) owned(res result) leasehold.Lease {
	row := res.out.Row
	off := 2 * s.traits.Grain
	if n := len(res.out.Steps); n > 0 {
		if kind := res.out.Steps[n-1].Kind; kind == leasehold.KindAcquired || kind == leasehold.KindRenewed {
			off = s.traits.Grain
		}
	}
	l := shorten(row.Lease(res.now), res.now, off)
	l.ID = row.ID
	return l
}

// freeIn is how long it takes until the service's clock, cut to its grain, is past
// the end of the lease for sure; zero for a lease without an end.
func (s *Store) freeIn(row machine.Row, now machine.Instant) time.Duration {
	if row.Ends == machine.Never {
		return 0
	}
	return row.Remaining(now) + s.traits.Grain + s.traits.TimerGrain
}

// shorten takes off what is not to be shown, and what is more than the ttl: the
// service's clock may have stepped back.
func shorten(l leasehold.Lease, now machine.Instant, off time.Duration) leasehold.Lease {
	if !l.State.Locked() || l.Remaining == leasehold.Infinite {
		return l
	}
	l.Remaining = max(1, l.Remaining-off)
	if l.TTL != leasehold.Infinite {
		l.Remaining = min(l.Remaining, l.TTL)
	}
	l.ExpiresAt = now.WallTime().Add(l.Remaining)
	return l
}
