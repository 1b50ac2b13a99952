package local

import (
	"cmp"
	"math"
	"slices"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// maxInNamespace is how many live leases may have claims in one namespace. A variable
// only because tests would have to make so many.
var maxInNamespace = 200_000

// plainOnly says whether a request can be decided by its own row alone: it is for a
// plain name that no set has or waits for.
func (s *state) plainOnly(r *leasehold.AcquireRequest) bool {
	t := s.table
	return r.Claims == nil && !t.claims.HasName(r.Resource) && !t.notes.HasName(r.Resource) && !s.reserving.HasName(r.Resource)
}

// tryAmongSets runs the rule on a request beside sets. Rank is its position, or the one
// that it would have.
func (s *state) tryAmongSets(now machine.Instant, r leasehold.AcquireRequest, fresh machine.Fresh, rank *position) machine.Outcome {
	s.checkNamespaces(r, &fresh)
	for r.Claims != nil && s.table.rows[machine.SetName(fresh.Token)] != nil {
		fresh.Token++ // an older program let people choose such a name
	}
	rows, blocked := s.conflicts(now, r)
	var reservations []machine.Reservation
	var ahead *position
	if !blocked {
		ahead = s.reservation(now, r, rank)
	}
	if ahead != nil {
		reservations = []machine.Reservation{{Holder: ahead.holder, Claims: ahead.covers()}}
	}
	out := machine.AcquireBehind(now, r, fresh, rows, reservations, s.table.known(r.ID), machine.Standard)
	if out.Reserved != "" && ahead.waiter != nil {
		out.Blocker = s.blocker(now, ahead.waiter.req)
	}
	return out
}

// checkNamespaces says in fresh whether a namespace is full.
func (s *state) checkNamespaces(r leasehold.AcquireRequest, fresh *machine.Fresh) {
	for _, c := range r.Claims {
		if c.Namespace != "" && s.table.claims.LenIn(c.Namespace) >= maxInNamespace && fresh.Full == "" {
			fresh.Full, fresh.FullAt = "namespace", int64(maxInNamespace)
		}
	}
}

// conflicts returns the rows that the rule needs: one that blocks the request, if there
// is any, and says so; else those past their end and those with notes for its holder.
func (s *state) conflicts(now machine.Instant, r leasehold.AcquireRequest) (rows []machine.Row, blocked bool) {
	if r.Claims == nil {
		rows = append(rows, s.table.row(r.Resource))
	}
	if row := s.blocker(now, r); row != nil {
		return append(rows, *row), true
	}
	seen := map[*entry]bool{s.table.ids[r.ID]: true}
	if r.Claims == nil {
		seen[s.table.rows[r.Resource]] = true // it is there already
	}
	add := func(ent *entry, c leasehold.Claim) bool {
		live := ent.row.State.Locked() && ent.row.Ends > now.Clock
		if !live && !seen[ent] {
			seen[ent] = true
			rows = append(rows, ent.row)
		}
		return true
	}
	s.overlapping(r, add)
	for _, c := range machine.Covers(r.Resource, r.Claims) {
		c.Mode = leasehold.Exclusive // notes are for all
		s.table.notes.Candidates(c, func(ent *entry) bool { return add(ent, c) })
	}
	return rows, false
}

// overlapping calls each for the entries of plain names and of live sets that may
// conflict with a claim of the request, until it returns false; for some more than once.
func (s *state) overlapping(r leasehold.AcquireRequest, each func(*entry, leasehold.Claim) bool) {
	for _, c := range machine.Covers(r.Resource, r.Claims) {
		if ent := s.table.rows[c.Pattern]; c.Namespace == "" && ent != nil && !each(ent, c) {
			return
		}
		if !s.table.claims.Candidates(c, func(ent *entry) bool { return each(ent, c) }) {
			return
		}
	}
}

// blocker returns a live row in the way of the request, other than its own, or nil.
func (s *state) blocker(now machine.Instant, r leasehold.AcquireRequest) (found *machine.Row) {
	s.eachBlocker(now, r, func(ent *entry, _ leasehold.Claim) bool {
		found = new(ent.row)
		return false
	})
	return found
}

// eachBlocker calls each for the entries whose live leases are in the way of the
// request, with the claim that they meet, until it returns false; for some more than
// once.
func (s *state) eachBlocker(now machine.Instant, r leasehold.AcquireRequest, each func(*entry, leasehold.Claim) bool) {
	var own *entry
	if s.upgrades(r) {
		own = s.table.ids[r.ID]
	}
	s.overlapping(r, func(ent *entry, c leasehold.Claim) bool {
		row := &ent.row
		if !row.State.Locked() || row.Ends <= now.Clock || ent == own {
			return true
		}
		if !machine.Conflicting([]leasehold.Claim{c}, row.Covers()) {
			return true
		}
		return each(ent, c)
	})
}

// newRank is the position of a request that is not in a queue: behind all of its
// priority, unless a position is kept for it.
func (s *state) newRank(r leasehold.AcquireRequest) *position {
	if p := s.keptPosition(r); p != nil {
		return p
	}
	return &position{priority: r.Priority, order: math.MaxUint64}
}

func (s *state) keptPosition(r leasehold.AcquireRequest) *position {
	if q := s.queueOf(r); q != nil && !r.ID.IsZero() {
		return q.byID[r.ID]
	}
	return nil
}

// reservation returns a position ahead of rank that keeps a part of the request free,
// or nil: of a request that is refused or starts to wait the first in line, because its
// caller is told; of one that waits any.
func (s *state) reservation(now machine.Instant, r leasehold.AcquireRequest, rank *position) (found *position) {
	s.eachReservation(now, r, rank, func(p *position, _ leasehold.Claim) bool {
		if found == nil || ahead(p, found) {
			found = p
		}
		return rank.waiter == nil
	})
	return found
}

// eachReservation calls each for the positions ahead of rank that keep a part of the
// request free, until it returns false; for some more than once. Of a plain
// name's queue it calls each for none if the request is itself plain: the queue serves
// it in its turn, and it waits for nothing else than those before it do.
func (s *state) eachReservation(now machine.Instant, r leasehold.AcquireRequest, rank *position, each func(*position, leasehold.Claim) bool) {
	for _, c := range machine.Covers(r.Resource, r.Claims) {
		if q := s.queues[c.Pattern]; c.Namespace == "" && r.Claims != nil && q != nil {
			more := true
			q.present.AscendLessThan(rank, func(p *position) bool {
				more = each(p, c)
				return more
			})
			if !more {
				return
			}
		}
		more := s.reserving.Candidates(c, func(p *position) bool {
			if p == rank || p.reserves <= now.Clock || !ahead(p, rank) || !machine.Conflicting([]leasehold.Claim{c}, p.claims) {
				return true
			}
			return each(p, c)
		})
		if !more {
			return
		}
	}
}

// serveSets grants to the waiters that may have waited for these claims, for sets and for
// plain names in one order.
func (s *state) serveSets(now machine.Instant, freed []leasehold.Claim) {
	positions := s.waitingFor(freed)
	for _, c := range freed {
		if q := s.queues[c.Pattern]; c.Namespace == "" && q != nil && q.present.Len() > 0 {
			first, _ := q.present.Min()
			positions = append(positions, first)
		}
	}
	sortByRank(positions)
	for _, p := range positions {
		if p.claims == nil {
			s.grantToWaiters(now, p.resource)
		} else if s.serveSet(now, p) {
			s.serveSets(now, p.claims)
		}
	}
}

func sortByRank(positions []*position) {
	slices.SortFunc(positions, func(a, b *position) int {
		return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(a.order, b.order))
	})
}

// waitingFor returns the present positions of sets that overlap with the claims, in
// the order in which they are served.
func (s *state) waitingFor(claims []leasehold.Claim) (positions []*position) {
	if s.reserving.Len() == 0 {
		return nil
	}
	seen := map[*position]bool{}
	for _, c := range claims {
		s.reserving.Candidates(c, func(p *position) bool {
			if !seen[p] && machine.Meet([]leasehold.Claim{c}, p.claims) {
				seen[p] = true
				positions = append(positions, p)
			}
			return true
		})
	}
	sortByRank(positions)
	return positions
}

// serveSet answers the waiter at the position if it can be decided now, and says
// whether it is refused: then it no longer keeps its claims free.
func (s *state) serveSet(now machine.Instant, p *position) (refused bool) {
	w := p.waiter
	if w == nil {
		return false // served meanwhile
	}
	w.id = freshID(w.req.ID)
	out := s.tryAcquire(now, w.req, w.id, p)
	if p.waiter != w || mustWait(out.Reason) {
		return false // it waits on, or was served while room was made for it
	}
	s.removeWaiter(p, false)
	w.granted = true
	detailWait(now, p, &out)
	s.apply(now, out)
	s.batches.send(w, s.result(now, w, out))
	return out.Reason != ""
}

// refuseFormer answers who waits for other modes of a lease that has ended, or is now
// known by another id: what that frees need not be what they wait for. It appends what
// they kept free.
func (s *state) refuseFormer(now machine.Instant, row *machine.Row, freed []leasehold.Claim) []leasehold.Claim {
	id := row.Former
	if !row.State.Locked() {
		id = row.ID
	}
	if s.sets == nil {
		return freed
	}
	if p := s.sets.byID[id]; p != nil && s.serveSet(now, p) {
		freed = append(freed, p.claims...)
	}
	return freed
}

// serveAllSets serves the waiters of all sets, in order.
func (s *state) serveAllSets(now machine.Instant) {
	if s.sets == nil {
		return
	}
	for some := s.sets.after(nil); len(some) > 0; some = s.sets.after(some[len(some)-1]) {
		for _, p := range some {
			if s.serveSet(now, p) {
				s.serveSets(now, p.claims)
			}
		}
	}
}

// serveBehind serves those that a waiter kept from what it waited for.
func (s *state) serveBehind(now machine.Instant, p *position) {
	if s.ready() == nil && (s.reserving.Len() > 0 || p.claims != nil) { // else recovery serves all
		s.serveSets(now, p.covers())
	}
}

// lapseReservations ends the reservations whose time is over, and serves those who
// waited because of them.
func (s *state) lapseReservations(now machine.Instant) {
	if freed := s.lapsed(now); len(freed) > 0 {
		s.serveSets(now, freed)
	}
	if s.lapses.Len() > 0 {
		s.nextWake = min(s.nextWake, s.lapses.First().reserves)
	}
}

// lapsed ends the reservations whose time is over, and returns what they kept free.
func (s *state) lapsed(now machine.Instant) (freed []leasehold.Claim) {
	for s.lapses.Len() > 0 && s.lapses.First().reserves <= now.Clock {
		p := s.lapses.First()
		s.lapses.Remove(int(p.lapse))
		freed = append(freed, p.claims...)
	}
	return freed
}

// freed appends what a step frees of sets, or for sets: the claims of the row before
// it.
func (s *state) freed(step *machine.Step, claims []leasehold.Claim) []leasehold.Claim {
	if s.table.claims.Len() == 0 && s.reserving.Len() == 0 {
		return claims
	}
	ends := !step.Row.State.Locked()
	ent := s.table.rows[step.Row.Resource]
	switch {
	case ent == nil || !ent.row.State.Locked():
		return claims
	case ent.row.Claims != nil && (ends || !slices.Equal(ent.row.Claims, step.Row.Claims)):
		return append(claims, ent.row.Claims...)
	case ends && s.reserving.Len() > 0:
		return append(claims, leasehold.Claim{Pattern: step.Row.Resource})
	}
	return claims
}

// setsOn returns the live sets that have the plain name, by token.
func (s *state) setsOn(now machine.Instant, name string) (rows []machine.Row) {
	for _, ent := range s.table.claims.Named(name) {
		if ent.row.At(now).State.Locked() {
			rows = append(rows, ent.row)
		}
	}
	slices.SortFunc(rows, func(a, b machine.Row) int { return cmp.Compare(a.Token, b.Token) })
	return rows
}
