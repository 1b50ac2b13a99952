package storetest

import (
	"maps"
	"time"

	"github.com/leasehold/leasehold"
)

var idempotentChecks = []check{
	{name: "SameIDAndHolder", run: reacquires},
	{name: "CountsAsRenewal", run: reacquireCounts},
	{name: "ObeysTheLimit", run: reacquireLimited, needs: []Capability{MaxRenewals}},
	{name: "TakesTheTTLSent", run: reacquireTTL},
	{name: "KeepsMetadataAndLimits", run: reacquireKeeps},
	{name: "OtherHolderIsRefused", run: reacquireByOther},
	{name: "WhileBreakingIsRefused", run: reacquireBreaking, needs: []Capability{Breaking}},
	{name: "ByWait", run: reacquireByWait, needs: []Capability{Waiting}},
	{name: "ByWaitWhileOthersWait", run: reacquireWhileOthersWait, needs: []Capability{Waiting}},
	{name: "IsRecordedAsRenewal", run: reacquireRecorded, needs: []Capability{History}},
}

// again repeats a request and expects the lease already held.
func (e *env) again(r leasehold.AcquireRequest, first leasehold.Grant) leasehold.Grant {
	e.Helper()
	r.ID = first.ID
	g := e.grant(r)
	if !g.Idempotent || g.Token != first.Token {
		e.Errorf("Acquire(%q) again = idempotent %v, token %d; want the lease with token %d", r.Resource, g.Idempotent, g.Token, first.Token)
	}
	return g
}

func reacquires(e *env) {
	r := e.request("r", "h")
	r.ID = e.id()
	first := e.grant(r)
	if first.Idempotent {
		e.Error("the first Acquire is called idempotent")
	}
	e.again(r, first)
	e.held(first.Lease)
	e.release(first.Lease)
	e.free("r")
}

func reacquireCounts(e *env) {
	r := e.request("r", "h")
	first := e.grant(r) // an id that the store made will do as well
	for want := 1; want <= 3; want++ {
		if g := e.again(r, first); g.Renewals != want {
			e.Errorf("Renewals after %d repetitions = %d", want, g.Renewals)
		}
	}
	if l := e.renew(first.Lease); l.Renewals != 4 {
		e.Errorf("Renewals after 3 repetitions and a renewal = %d", l.Renewals)
	}
}

func reacquireLimited(e *env) {
	r := e.request("r", "h")
	r.MaxRenewals = new(int)
	*r.MaxRenewals = 1
	first := e.grant(r)
	e.again(r, first)
	r.ID = first.ID
	e.refused(r, leasehold.ReasonMaxRenewals)
	e.held(first.Lease)
}

func reacquireTTL(e *env) {
	r := e.brief("r", "h")
	first := e.grant(r)
	e.pass(e.short / 4)
	r.TTL = 2 * e.short
	if g := e.again(r, first); g.TTL != r.TTL || !e.about(g.Remaining, r.TTL) {
		e.Errorf("Acquire again with ttl %v = ttl %v, %v remaining", r.TTL, g.TTL, g.Remaining)
	}
}

func reacquireKeeps(e *env) {
	r := e.request("r", "h")
	r.Metadata = map[string]string{"k": "first"}
	first := e.grant(r)
	r.Metadata = map[string]string{"k": "second", "more": "x"}
	if e.h.can(MaxRenewals) {
		r.MaxRenewals = new(int)
	}
	g := e.again(r, first)
	want := map[string]string{"k": "first"}
	if !maps.Equal(g.Metadata, want) || g.MaxRenewals != leasehold.Unlimited {
		e.Errorf("Acquire again = metadata %q, limit %d; want %q and no limit, as first granted", g.Metadata, g.MaxRenewals, want)
	}
	if got := e.held(first.Lease).Metadata; !maps.Equal(got, want) {
		e.Errorf("Status.Metadata = %q, want %q", got, want)
	}
}

func reacquireByOther(e *env) {
	first := e.acquire("r", "h")
	r := e.request("r", "thief")
	r.ID = first.ID
	e.refused(r, leasehold.ReasonHeld)
	if l := e.held(first.Lease); l.Renewals != 0 {
		e.Errorf("a foreign request with the id renewed the lease")
	}
}

func reacquireBreaking(e *env) {
	r := e.request("r", "h")
	first := e.grant(r)
	e.breakIn("r", 10*time.Second)
	r.ID = first.ID
	e.refused(r, leasehold.ReasonBreaking)
}

func reacquireByWait(e *env) {
	r := e.request("r", "h")
	first := e.grant(r)
	r.ID = first.ID
	g := e.wait(r).granted()
	if !g.Idempotent || g.Token != first.Token || g.Waited > e.atMost(e.tolerance()) {
		e.Errorf("Wait with the id held = idempotent %v, token %d after %v; want token %d at once", g.Idempotent, g.Token, g.Waited, first.Token)
	}
}

func reacquireWhileOthersWait(e *env) {
	r := withID(e.request("r", "h"), e.id())
	first := e.grant(r)
	others := []*waiter{e.wait(e.request("r", "a")), e.wait(withID(e.request("r", "b"), e.id()))}
	for want := 1; want <= 3; want++ {
		g := e.wait(r).atOnce()
		if !g.Idempotent || g.Token != first.Token || g.Renewals != want {
			e.Errorf("Wait with the id held = idempotent %v, token %d, %d renewals; want token %d and %d", g.Idempotent, g.Token, g.Renewals, first.Token, want)
		}
	}
	e.inOrder(first.Lease, others...)
}

func reacquireRecorded(e *env) {
	r := e.request("r", "h")
	first := e.grant(r)
	e.again(r, first)
	records := e.kinds("r", leasehold.KindAcquired, leasehold.KindRenewed)
	if records[1].Renewals != 1 || records[1].Token != first.Token {
		e.Errorf("record of a repeated acquire = %+v, want renewal 1 with token %d", records[1], first.Token)
	}
}
