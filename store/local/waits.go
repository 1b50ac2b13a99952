package local

import (
	"context"
	"slices"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// maxBehind is how many blockers of one waiter are listed, and maxAhead how many
// waiters before it are counted: both bound how long one hold of the lock lasts.
const (
	maxBehind = 16
	maxAhead  = leasehold.MaxPage
)

// Waits implements leasehold.WaitLister. Like List it copies in steps that take turns.
func (e *Engine) Waits(ctx context.Context, limit int) (leasehold.WaitList, error) {
	if err := leasehold.CheckPageLimit(limit); err != nil {
		return leasehold.WaitList{}, e.opError("waits", "", err)
	}
	if limit == 0 {
		limit = leasehold.DefaultPage
	}
	w := waitListing{limit: limit}
	err := e.inSteps(ctx, func(now machine.Instant) bool { return e.waitsStep(&w, now) })
	if err != nil {
		return leasehold.WaitList{}, e.opError("waits", "", err)
	}
	return w.list, nil
}

// waitListing is a Waits under way.
type waitListing struct {
	limit int
	after uint64 // the order of the last position looked at
	list  leasehold.WaitList
}

// waitsStep continues the listing, and reports whether that is all.
func (e *Engine) waitsStep(l *waitListing, now machine.Instant) (done bool) {
	done = true
	l.list.Total = e.present.Len()
	work := 0
	e.present.AscendGreaterOrEqual(&position{order: l.after + 1}, func(p *position) bool {
		if len(l.list.Waits) == l.limit {
			return false
		}
		if work >= stepSize {
			done = false // continue from this one
			return false
		}
		s := waitScan{state: &e.state, now: now, p: p}
		l.list.Waits = append(l.list.Waits, s.wait())
		l.after = p.order
		work += s.seen
		return true
	})
	return done
}

// waitScan describes one waiter.
type waitScan struct {
	*state
	now  machine.Instant
	p    *position
	seen int // entries and positions looked at
}

func (s *waitScan) wait() leasehold.Wait {
	s.seen++
	p := s.p
	w := leasehold.Wait{
		Place:     leasehold.Place{Holder: p.holder, Priority: p.priority, Since: s.since()},
		Resource:  p.resource,
		Claims:    p.claims,
		Sequence:  p.waiter.req.Sequence,
		Reserving: p.claims != nil && p.reserves > s.now.Clock,
	}
	if ahead := s.ahead(); ahead < maxAhead {
		w.Position = ahead + 1
	}
	w.Behind, w.BehindMore = s.behind()
	return w
}

// since is the start of the wait by the wall clock.
func (s *waitScan) since() time.Time {
	return s.now.WallTime().Add(time.Duration(s.p.since - s.now.Clock)).UTC().Truncate(time.Millisecond)
}

// ahead counts the waiters for a part of the same that are served before it.
func (s *waitScan) ahead() (n int) {
	counted := map[*position]bool{}
	count := func(p *position) bool {
		s.seen++
		if p != s.p && ahead(p, s.p) && !counted[p] {
			counted[p] = true
			n++
		}
		return n < maxAhead
	}
	for _, c := range s.p.covers() {
		if q := s.queues[c.Pattern]; c.Namespace == "" && q != nil {
			q.present.AscendLessThan(s.p, count)
		}
		s.reserving.Candidates(c, func(p *position) bool {
			s.seen++
			return !machine.Conflicting([]leasehold.Claim{c}, p.claims) || count(p)
		})
	}
	return min(n, maxAhead)
}

// behind lists what the waiter waits for, and says whether there is more.
func (s *waitScan) behind() (all []leasehold.Blocker, more bool) {
	add := func(b leasehold.Blocker) bool {
		s.seen++
		same := func(have leasehold.Blocker) bool { return have.Token == b.Token && have.Holder == b.Holder }
		switch {
		case slices.ContainsFunc(all, same):
		case len(all) == maxBehind:
			more = true
		default:
			all = append(all, b)
		}
		return !more
	}
	r := s.p.waiter.req
	s.eachBlocker(s.now, r, func(ent *entry, c leasehold.Claim) bool {
		return add(leasehold.Blocker{Holder: ent.row.Holder, Resource: ent.row.Resource, Token: ent.row.Token, Claim: c})
	})
	if !s.upgrades(r) { // such a one waits for no reservation
		s.eachReservation(s.now, r, s.p, func(p *position, c leasehold.Claim) bool {
			return add(leasehold.Blocker{Holder: p.holder, Claim: c})
		})
	}
	return all, more
}
