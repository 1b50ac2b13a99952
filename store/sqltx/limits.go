package sqltx

import (
	"sync"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/internal/settings"
)

// exactBelow is the largest limit of live leases that is kept exactly: every grant
// counts, because other servers grant too. Larger ones are counted once a second when
// they are nearly used up, so they can be passed by as many leases as all servers grant
// in that time: a million rows cannot be counted for every grant.
const exactBelow = 10_000

// room is how many live leases there are, as far as this store knows: of each
// caller, and of all under the empty name.
type room struct {
	mu     sync.Mutex
	counts map[string]*count
}

type count struct {
	n  int64     // when counted, and what this store has granted since
	at time.Time // when counted
}

// sure reports whether there is room for one more without counting. Half a large limit
// is about what others grant in ten seconds, or more.
func (r *room) sure(caller string, limit int64) bool {
	switch {
	case limit == leasehold.Unlimited:
		return true
	case limit <= exactBelow:
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.counts[caller]
	if c == nil { // the first counts, and others do not wait for it
		r.put(caller, count{at: time.Now().Add(-500 * time.Millisecond)})
		return false
	}
	age := time.Since(c.at)
	ok := age < 10*time.Second && c.n < limit/2 || age < time.Second && c.n < limit
	if ok {
		c.n++
	} else { // one counts, others go by the last count meanwhile
		c.at = time.Now().Add(-500 * time.Millisecond)
	}
	return ok
}

// note keeps what was counted.
func (r *room) note(caller string, n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.put(caller, count{n: n, at: time.Now()})
}

func (r *room) put(caller string, c count) {
	if r.counts == nil || len(r.counts) > 10_000 {
		r.counts = map[string]*count{}
	}
	r.counts[caller] = &c
}

// fresh is what a new grant would get: the database draws its token. Where live
// leases were counted it says whether there is room.
func (s *Store) fresh(op operation, v *settings.Values, f Found) machine.Fresh {
	fresh := machine.Fresh{ID: op.unasked}
	if !op.counts || !f.Counted {
		return fresh
	}
	caller := op.need.Caller
	s.room.note("", f.Live)
	if caller != "" {
		s.room.note(caller, f.CallerLive)
	}
	switch {
	case v.MaxLeases != leasehold.Unlimited && f.Live >= v.MaxLeases:
		fresh.Full, fresh.FullAt = leasehold.SettingMaxLeases, v.MaxLeases
	case caller != "" && v.MaxLeasesCaller != leasehold.Unlimited && f.CallerLive >= v.MaxLeasesCaller:
		fresh.Full, fresh.FullAt = leasehold.SettingMaxLeasesCaller, v.MaxLeasesCaller
	}
	return fresh
}

// mustCount reports whether live leases have to be counted before one more is
// granted.
func (s *Store) mustCount(op operation, v *settings.Values, f Found) bool {
	if !op.counts || f.Counted {
		return false
	}
	caller := op.need.Caller
	return !s.room.sure("", v.MaxLeases) || caller != "" && !s.room.sure(caller, v.MaxLeasesCaller)
}

// countNeed is the need of a step that counts.
func (s *Store) countNeed(n Need, f Found) Need {
	v := s.control.decode(f.Control)
	n.Live, n.Most, n.CallerMost = true, v.MaxLeases, v.MaxLeasesCaller
	return n
}
