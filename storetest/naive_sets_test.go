package storetest_test

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// covers returns what a request claims.
func covers(r leasehold.AcquireRequest) []leasehold.Claim {
	return machine.Covers(r.Resource, r.Claims)
}

// claimsName reports whether one of the claims is this plain name.
func claimsName(claims []leasehold.Claim, name string) bool {
	return slices.ContainsFunc(claims, func(c leasehold.Claim) bool { return c.Namespace == "" && c.Pattern == name })
}

// claimsPath reports whether one of the claims is of the namespace and overlaps with
// the path, if there is one.
func claimsPath(claims []leasehold.Claim, namespace, path string) bool {
	return slices.ContainsFunc(claims, func(c leasehold.Claim) bool {
		return c.Namespace == namespace && (path == "" || machine.Overlaps(c, leasehold.Claim{Namespace: namespace, Pattern: path}))
	})
}

// byToken returns all rows, the oldest grant first.
func (n *naive) byToken() (rows []machine.Row) {
	for _, row := range n.rows {
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b machine.Row) int { return cmp.Compare(a.Token, b.Token) })
	return rows
}

// meeting returns the rows that a request meets, in whatever modes and states.
func (n *naive) meeting(r leasehold.AcquireRequest) []machine.Row {
	if r.Claims == nil && !n.sets {
		return []machine.Row{n.row(r.Resource)}
	}
	return slices.DeleteFunc(n.byToken(), func(row machine.Row) bool { return !machine.Meet(covers(r), row.Covers()) })
}

// covering returns the live sets with this plain name.
func (n *naive) covering(now machine.Instant, name string) []machine.Row {
	if !n.sets {
		return nil
	}
	return slices.DeleteFunc(n.byToken(), func(row machine.Row) bool {
		return !row.At(now).State.Locked() || row.Claims == nil || !claimsName(row.Claims, name)
	})
}

// inTheWay is the row that a refusal names: of a reservation, what that waiter waits
// for itself.
func (n *naive) inTheWay(now machine.Instant, o machine.Outcome) *machine.Row {
	switch {
	case o.Blocker != nil:
		return o.Blocker
	case o.Reserved == "":
		return &o.Row
	}
	for _, w := range n.order() {
		if w.request.Holder == o.Reserved {
			for _, row := range n.blocking(now, w.request) {
				return &row
			}
		}
	}
	return nil
}

// blocking returns the live rows in the way of a request, without the set that it
// upgrades.
func (n *naive) blocking(now machine.Instant, r leasehold.AcquireRequest) []machine.Row {
	own := n.upgraded(r)
	return slices.DeleteFunc(n.meeting(r), func(row machine.Row) bool {
		return own != nil && row.Resource == own.Resource || !row.At(now).State.Locked() ||
			!machine.Conflicting(covers(r), row.Covers())
	})
}

// upgraded returns the set that a request would give other modes, or nil.
func (n *naive) upgraded(r leasehold.AcquireRequest) *machine.Row {
	if own := n.known(r.ID); own != nil && own.ID == r.ID && own.Claims != nil && own.Holder == r.Holder {
		return own
	}
	return nil
}

// waitsFor returns whom the waits of a holder wait for, if they are one sequence.
func (n *naive) waitsFor(holder string) (edges []leasehold.WaitEdge) {
	now := n.now()
	for _, w := range n.order() {
		if w.request.Holder != holder || !w.request.Sequence {
			continue
		}
		claims := covers(w.request)
		for _, row := range n.blocking(now, w.request) {
			place, _ := machine.Conflict(claims, row.Covers())
			edges = append(edges, leasehold.WaitEdge{Holder: holder, Claim: place.Requested, HeldBy: row.Holder})
		}
		if n.upgraded(w.request) != nil {
			continue // an upgrade passes those that wait for it
		}
		for _, kept := range n.ahead(now, w) {
			if place, ok := machine.Conflict(claims, kept.Claims); ok {
				edges = append(edges, leasehold.WaitEdge{Holder: holder, Claim: place.Requested, HeldBy: kept.Holder})
			}
		}
	}
	return edges
}

func (n *naive) cycle(holder string) []leasehold.WaitEdge {
	if n.flaw == waitsInCycles {
		return nil
	}
	return machine.Cycle(holder, n.waitsFor)
}

func deadlock(cycle []leasehold.WaitEdge) error {
	return &leasehold.Error{Reason: leasehold.ReasonDeadlock, Cycle: cycle}
}

// cycleAfter returns the cycle that a transfer would close.
func (n *naive) cycleAfter(o machine.Outcome) []leasehold.WaitEdge {
	if !o.Granted {
		return nil
	}
	before := n.rows[o.Row.Resource]
	n.rows[o.Row.Resource] = o.Row
	defer func() { n.rows[o.Row.Resource] = before }()
	return n.cycle(o.Row.Holder)
}

// refuseCycles ends the waits of a holder that a grant to it has made cycles of.
func (n *naive) refuseCycles(now machine.Instant, holder string) {
	for cycle := n.cycle(holder); cycle != nil; cycle = n.cycle(holder) {
		i := slices.IndexFunc(n.waiters, func(w *waiter) bool {
			return w.request.Holder == holder && w.request.Sequence && slices.Contains(covers(w.request), cycle[0].Claim)
		})
		w := n.waiters[i]
		n.dequeue(w)
		details := map[string]string{}
		machine.DetailCycle(details, cycle)
		n.record(now, leasehold.Record{Kind: leasehold.KindFailed, Resource: w.request.Resource, Holder: holder,
			Why: string(leasehold.ReasonDeadlock), Details: details})
		w.answer <- answer{err: deadlock(cycle)}
	}
}

// recordFailure records that a wait ended. A set that was never granted has no name.
func (n *naive) recordFailure(now machine.Instant, r leasehold.AcquireRequest, why string) {
	failed := leasehold.Record{Kind: leasehold.KindFailed, Resource: r.Resource, Holder: r.Holder, Why: why}
	if r.Claims != nil {
		failed.Resource, failed.Details = leasehold.SetPrefix, map[string]string{"claims": machine.DescribeClaims(r.Claims)}
	}
	n.record(now, failed)
}

// breakAll breaks the lease of this name, or else all sets that cover it. The answer
// is of the one that ends last.
func (n *naive) breakAll(now machine.Instant, r leasehold.BreakRequest) machine.Outcome {
	rows := []machine.Row{n.row(r.Resource)}
	if sets := n.covering(now, r.Resource); len(sets) > 0 {
		rows = sets
	}
	if n.flaw == breaksOnlyOne {
		rows = rows[:1]
	}
	var all machine.Outcome
	for i, row := range rows {
		o := machine.Break(now, r, row, n.policy())
		o.Steps = append(all.Steps, o.Steps...)
		if i > 0 && o.Row.Ends < all.Row.Ends {
			o.Row = all.Row
		}
		all = o
	}
	return all
}

// allShared has every claim shared.
func allShared(r leasehold.AcquireRequest, conflicts []machine.Row) (leasehold.AcquireRequest, []machine.Row) {
	share := func(claims []leasehold.Claim) []leasehold.Claim {
		claims = slices.Clone(claims)
		for i := range claims {
			claims[i].Mode = leasehold.Shared
		}
		return claims
	}
	r.Claims = share(r.Claims)
	for i := range conflicts {
		conflicts[i].Claims = share(conflicts[i].Claims)
	}
	return r, conflicts
}

// spoil breaks the promises about sets.
func (n *naive) spoil(now machine.Instant, r leasehold.AcquireRequest, o machine.Outcome) machine.Outcome {
	n.sets = n.sets || r.Claims != nil
	switch {
	case n.flaw == grantsHalf && o.Overlap != nil && len(r.Claims) > 1:
		r.Claims = slices.DeleteFunc(slices.Clone(r.Claims), func(c leasehold.Claim) bool { return c == o.Overlap.Requested })
		n.write(now, n.acquire(now, r, nil)) // and answers that there is nothing
	case n.flaw == keepsTokens && o.Granted && o.Steps[len(o.Steps)-1].Details["replaces_token"] != "":
		last := &o.Steps[len(o.Steps)-1].Row
		last.Token, _ = strconv.ParseUint(o.Steps[len(o.Steps)-1].Details["replaces_token"], 10, 64)
		o.Row = *last
	case n.flaw == repeatsNotes:
		o.Steps = slices.DeleteFunc(o.Steps, func(s machine.Step) bool { return s.Kind == "" })
	}
	return o
}
