package local

import (
	"cmp"
	"maps"
	"slices"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// waitGraph is who waits for whom among holders whose requests are one sequence of
// work. It is not stored: a search asks the queues and the table.
type waitGraph struct {
	*state
	now machine.Instant

	// moved is the resource of a lease that is about to be the holder to's.
	moved, to string
}

// cycle returns the cycle that the waiter is in, or nil.
func (g waitGraph) cycle(w *waiter) []leasehold.WaitEdge {
	if !g.wanted(w.req.Holder) {
		return nil
	}
	first := true
	return machine.Cycle(w.req.Holder, func(holder string) []leasehold.WaitEdge {
		if first { // by this waiter, and not by another of its holder
			first = false
			return g.edges(w, nil)
		}
		return g.edgesOf(holder)
	})
}

// wanted says whether a waiter in sequence may wait for the holder. If none does, as is
// most often so, the holder is in no cycle. To search for one where many wait for parts
// of the same takes the square of their number, under the lock. A holder of very many
// leases is not worth the look.
func (g waitGraph) wanted(holder string) (found bool) {
	looked := 0
	has := func(ent *entry) bool {
		looked++
		found = looked > stepSize || ent.row.State.Locked() && g.waitedFor(ent.row) && g.inSequence(ent.row.Covers(), nil)
		return !found
	}
	g.table.ofHolder(holder, "", has)
	if g.to == holder && !found {
		has(g.table.rows[g.moved])
	}
	g.present.Ascend(func(p *position) bool {
		found = found || p.holder == holder && g.inSequence(p.covers(), p)
		return !found
	})
	return found
}

// inSequence says whether a waiter in sequence behind the position, or anyone if it is
// nil, may wait for the claims.
func (g waitGraph) inSequence(claims []leasehold.Claim, p *position) bool {
	apart := func(q *position) bool {
		return !q.waiter.req.Sequence || p != nil && !ahead(p, q)
	}
	for _, c := range claims {
		none := true
		if q := g.queues[c.Pattern]; c.Namespace == "" && q != nil {
			q.present.Ascend(func(q *position) bool {
				none = apart(q)
				return none
			})
		}
		if !none || !g.reserving.Candidates(c, apart) {
			return true
		}
	}
	return false
}

// edgesOf returns whom all waiters of a holder wait for.
func (g waitGraph) edgesOf(holder string) (edges []leasehold.WaitEdge) {
	for w := range g.sequences[holder] {
		edges = g.edges(w, edges)
	}
	return edges
}

// edges appends whom the waiter waits for, each once: holders of leases in its way, and
// of reservations that come before it.
func (g waitGraph) edges(w *waiter, edges []leasehold.WaitEdge) []leasehold.WaitEdge {
	seen := map[string]bool{}
	add := func(holder string, c leasehold.Claim) {
		if !seen[holder] {
			seen[holder] = true
			edges = append(edges, leasehold.WaitEdge{Holder: w.req.Holder, Claim: c, HeldBy: holder})
		}
	}
	g.eachBlocker(g.now, w.req, func(ent *entry, c leasehold.Claim) bool {
		if ent.row.Resource == g.moved {
			add(g.to, c)
		} else {
			add(ent.row.Holder, c)
		}
		return true
	})
	if g.upgrades(w.req) {
		return edges
	}
	g.eachReservation(g.now, w.req, w.position, func(p *position, c leasehold.Claim) bool {
		// A holder does not wait for itself because it came twice. One that waits for
		// the same as this waiter adds nobody whom this one does not wait for, if neither
		// waits for anything else.
		of := g.sequences[p.holder]
		same := len(of) == 1 && of[p.waiter] && len(g.sequences[w.req.Holder]) == 1 && slices.Equal(p.claims, w.req.Claims)
		if p.holder != w.req.Holder && !same {
			add(p.holder, c)
		}
		return true
	})
	return edges
}

// upgrades says whether the request is for other modes of a lease that its holder has:
// it waits for no reservation.
func (s *state) upgrades(r leasehold.AcquireRequest) bool {
	ent := s.table.ids[r.ID]
	return ent != nil && ent.row.Claims != nil && ent.row.State.Locked() && ent.row.Holder == r.Holder
}

// checkWait returns the cycle that a new wait closes, or nil. That may be by another wait
// of its holder, if somebody else who waits comes behind the new one. Without Sequence it
// closes none.
func (s *state) checkWait(now machine.Instant, w *waiter) []leasehold.WaitEdge {
	g := waitGraph{state: s, now: now}
	if !w.req.Sequence || !g.wanted(w.req.Holder) {
		return nil
	}
	return machine.Cycle(w.req.Holder, g.edgesOf)
}

// checkTransfer refuses a transfer after which the new holder would wait for itself, be
// it over others.
func (s *state) checkTransfer(now machine.Instant, out machine.Outcome) machine.Outcome {
	if !out.Granted {
		return out
	}
	g := waitGraph{state: s, now: now, moved: out.Row.Resource, to: out.Row.Holder}
	served := s.keptPosition(leasehold.AcquireRequest{Resource: out.Row.Resource, Claims: out.Row.Claims, ID: out.Row.ID})
	for w := range s.sequences[out.Row.Holder] {
		if w.position == served {
			continue // the transfer ends its wait
		}
		if cycle := g.cycle(w); cycle != nil {
			no := refuse(out.Row.Resource, leasehold.ReasonDeadlock)
			no.Cycle = cycle
			return no
		}
	}
	return out
}

// refuseCycles refuses the waits of a holder that a grant to it has closed to a cycle.
func (s *state) refuseCycles(now machine.Instant, holder string) {
	s.refuseLatest(now, slices.Collect(maps.Keys(s.sequences[holder])))
}

// refuseAllCycles refuses, of the waits in a cycle, the latest.
func (s *state) refuseAllCycles(now machine.Instant) {
	var all []*waiter
	for _, of := range s.sequences {
		all = slices.AppendSeq(all, maps.Keys(of))
	}
	s.refuseLatest(now, all)
}

func (s *state) refuseLatest(now machine.Instant, waiters []*waiter) {
	slices.SortFunc(waiters, func(a, b *waiter) int { return cmp.Compare(b.position.order, a.position.order) })
	for _, w := range waiters {
		if w.position.waiter == w { // and was not served meanwhile
			s.refuseCycle(now, w)
		}
	}
}

// whyDeadlock is in the record of a wait that was refused after it began.
const whyDeadlock = "deadlock"

// refuseCycle refuses the wait if it is in a cycle.
func (s *state) refuseCycle(now machine.Instant, w *waiter) {
	cycle := waitGraph{state: s, now: now}.cycle(w)
	if cycle == nil {
		return
	}
	p := w.position
	s.removeWaiter(p, false)
	w.granted = true // or rather refused: if the commit fails it waits on
	err := s.waitError(now, w, leasehold.ReasonDeadlock, nil)
	err.Cycle = cycle
	s.recordFailedWait(now, now, w, whyDeadlock, cycle)
	s.batches.send(w, answer{err: err})
	s.serveBehind(now, p)
}
