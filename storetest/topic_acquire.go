package storetest

import (
	"maps"
	"time"

	"github.com/leasehold/leasehold"
)

var acquireChecks = []check{
	{name: "GrantsFreeResource", run: grantsFree},
	{name: "MakesAnIDOfItsOwn", run: makesIDs},
	{name: "TakesTheProposedID", run: takesProposedID},
	{name: "KeepsMetadata", run: keepsMetadata},
	{name: "EndedHasNoMetadata", run: endedHasNoMetadata, needs: []Capability{Memory}},
	{name: "CutsTTLToMilliseconds", run: cutsTTL},
	{name: "GrantsShortestAndLongest", run: grantsExtremes},
	{name: "FillsInTheTTL", run: fillsInTTL},
	{name: "GrantsWithoutEnd", run: grantsInfinite, needs: []Capability{Infinite}},
	{name: "GrantsAfterRelease", run: grantsAfterRelease},
	{name: "TokensGrow", run: tokensGrow},
	{name: "ResourcesAreIndependent", run: resourcesIndependent},
	{name: "OneHolderHoldsMany", run: oneHolderHoldsMany},
}

func grantsFree(e *env) {
	e.free("r")
	if s := e.status("r"); s.Lease != nil || len(s.Waiters) != 0 {
		e.Errorf("Status of a resource never leased = %s with %d waiters, want nothing", describeStatus(s), len(s.Waiters))
	}
	g := e.acquire("r", "h")
	if g.Idempotent || g.Waited != 0 || g.Renewals != 0 || g.MaxRenewals != leasehold.Unlimited || len(g.Metadata) != 0 {
		e.Errorf("Acquire = %+v, want a plain new lease", g)
	}
	if g.TTL != e.long {
		e.Errorf("Acquire.TTL = %v, want %v", g.TTL, e.long)
	}
	l := e.held(g.Lease)
	if !e.about(l.Remaining, e.long) || l.TTL != e.long || l.State != leasehold.StateActive {
		e.Errorf("Status = %+v, want the lease as granted", l)
	}
	if d := l.ExpiresAt.Sub(l.AcquiredAt) - e.long; e.h.Bubble && (d > time.Millisecond || d < -time.Millisecond) {
		e.Errorf("Status: from %v to %v, want %v between", l.AcquiredAt, l.ExpiresAt, e.long)
	}
}

func makesIDs(e *env) {
	seen := map[leasehold.ID]bool{}
	for range 20 {
		g := e.acquire("r", "h")
		if seen[g.ID] {
			e.Fatal("Acquire gave the same id twice")
		}
		seen[g.ID] = true
		e.release(g.Lease)
	}
}

func takesProposedID(e *env) {
	r := e.request("r", "h")
	r.ID = e.id()
	g := e.grant(r) // checks the id
	e.renew(g.Lease)
}

func keepsMetadata(e *env) {
	r := e.request("r", "h")
	r.Metadata = map[string]string{"host": "a", "Odd.Key_1-": "'; DROP TABLE leases; --\n\x00 é 🔑", "empty": ""}
	want := maps.Clone(r.Metadata)
	g := e.grant(r)
	if !maps.Equal(g.Metadata, want) {
		e.Errorf("Acquire.Metadata = %q, want %q", g.Metadata, want)
	}
	r.Metadata["host"] = "changed by the caller afterwards"
	if got := e.renew(g.Lease).Metadata; !maps.Equal(got, want) {
		e.Errorf("Renew.Metadata = %q, want %q", got, want)
	}
	if got := e.held(g.Lease).Metadata; !maps.Equal(got, want) {
		e.Errorf("Status.Metadata = %q, want %q", got, want)
	}
}

// endedHasNoMetadata: the answer that ends a lease is the last to carry it.
func endedHasNoMetadata(e *env) {
	for _, resource := range []string{"released", "broken", "expired"} {
		r := e.brief(resource, "h")
		r.Metadata = map[string]string{"k": resource}
		g := e.grant(r)
		switch resource {
		case "released":
			if l := e.release(g.Lease); l.Metadata["k"] != resource {
				e.Errorf("Release.Metadata = %q, want it for the last time", l.Metadata)
			}
		case "broken":
			if !e.h.can(Breaking) {
				continue
			}
			l, err := power[leasehold.Breaker](e).Break(e.Context(), leasehold.BreakRequest{Resource: resource})
			if err != nil || l.Metadata["k"] != resource {
				e.Errorf("Break = %v, metadata %q; want it for the last time", err, l.Metadata)
			}
		case "expired":
			e.outlive(e.short)
		}
		if s := e.status(resource); s.Lease == nil || len(s.Lease.Metadata) != 0 {
			e.Errorf("Status of a lease that is %s = %s, metadata %v; want it without", resource, describeStatus(s), s.Lease)
		}
		if e.h.can(MetadataFilter) {
			e.lists(leasehold.ListRequest{Metadata: r.Metadata, States: []leasehold.State{
				leasehold.StateReleased, leasehold.StateExpired, leasehold.StateBroken}})
		}
	}
}

func cutsTTL(e *env) {
	r := e.request("r", "h")
	r.TTL = e.h.MinTTL + 1_999_999*time.Nanosecond
	if g := e.grant(r); g.TTL != e.h.MinTTL+time.Millisecond {
		e.Errorf("Acquire with ttl %v = lease of %v, want %v", r.TTL, g.TTL, e.h.MinTTL+time.Millisecond)
	}
}

func grantsExtremes(e *env) {
	for _, ttl := range []time.Duration{e.h.MinTTL, e.h.MaxTTL} {
		r := e.request("r"+ttl.String(), "h")
		r.TTL = ttl
		if g := e.grant(r); g.TTL != ttl {
			e.Errorf("Acquire with ttl %v = lease of %v", ttl, g.TTL)
		}
	}
}

func fillsInTTL(e *env) {
	g := e.grant(leasehold.AcquireRequest{Resource: "r", Holder: "h"})
	if g.TTL != leasehold.Infinite && (g.TTL < e.h.MinTTL || g.TTL > e.h.MaxTTL) {
		e.Errorf("Acquire without a ttl = lease of %v, want the default", g.TTL)
	}
	if e.h.can(Settings) && g.TTL != 5*time.Minute {
		e.Errorf("Acquire without a ttl = lease of %v, want 5m0s", g.TTL)
	}
}

func grantsInfinite(e *env) {
	r := e.request("r", "h")
	r.TTL = leasehold.Infinite
	g := e.grant(r)
	if g.TTL != leasehold.Infinite || g.Remaining != leasehold.Infinite || !g.ExpiresAt.IsZero() {
		e.Errorf("Acquire = ttl %v, %v remaining, end %v; want no end", g.TTL, g.Remaining, g.ExpiresAt)
	}
	if e.h.Bubble {
		e.pass(20 * 24 * time.Hour)
	}
	e.held(g.Lease)
	err := e.refused(e.request("r", "other"), leasehold.ReasonHeld)
	if err.Current == nil || err.Current.Remaining != leasehold.Infinite || err.RetryAfter < 0 {
		e.Errorf("Acquire of it = %+v, want the lease without an end as Current", err)
	}
	e.release(e.renew(g.Lease))
	e.acquire("r", "other")
}

func grantsAfterRelease(e *env) {
	first := e.acquire("r", "a")
	e.release(first.Lease)
	second := e.acquire("r", "b")
	if second.ID == first.ID {
		e.Error("Acquire after a release gave the old id")
	}
	e.held(second.Lease)
}

func tokensGrow(e *env) {
	var last uint64
	for i := range 10 {
		r := e.request("r", "h")
		g := e.grant(r)
		if g.Token <= last {
			e.Fatalf("grant %d has token %d, after %d", i, g.Token, last)
		}
		last = g.Token
		e.release(g.Lease)
	}
}

func resourcesIndependent(e *env) {
	a, b := e.acquire("a", "x"), e.acquire("b", "y")
	e.release(a.Lease)
	e.held(b.Lease)
	e.free("a")
}

func oneHolderHoldsMany(e *env) {
	a, b := e.acquire("a", "h"), e.acquire("b", "h")
	if a.ID == b.ID {
		e.Error("two leases of one holder have the same id")
	}
	e.held(a.Lease)
	e.held(b.Lease)
}

var conflictChecks = []check{
	{name: "SaysWhoHolds", run: saysWhoHolds},
	{name: "SaysHowManyWait", run: saysHowManyWait, needs: []Capability{ShownQueue}},
	{name: "ChangesNothing", run: conflictChangesNothing},
	{name: "SameHolderIsAConflictToo", run: sameHolderConflicts},
	{name: "RemainingGoesDown", run: remainingGoesDown},
}

func saysWhoHolds(e *env) {
	r := e.request("r", "holder")
	r.Metadata = map[string]string{"k": "v"}
	g := e.grant(r)
	err := e.refused(e.request("r", "other"), leasehold.ReasonHeld)
	c := err.Current
	if c.Holder != "holder" || c.Token != g.Token || c.State != leasehold.StateActive || c.Resource != "r" || c.Metadata["k"] != "v" {
		e.Errorf("Current = %+v, want the lease of %q with token %d", *c, "holder", g.Token)
	}
	if !e.about(c.Remaining, e.long) || c.AcquiredAt.IsZero() {
		e.Errorf("Current: since %v, %v remaining; want %v", c.AcquiredAt, c.Remaining, e.long)
	}
	if err.RetryAfter < 0 || err.RetryAfter > c.Remaining {
		e.Errorf("RetryAfter = %v, want at most what remains, %v", err.RetryAfter, c.Remaining)
	}
	if err.Waiting != 0 {
		e.Errorf("Waiting = %d, want 0", err.Waiting)
	}
}

func saysHowManyWait(e *env) {
	g := e.acquire("r", "holder")
	for i, holder := range []string{"a", "b", "c"} {
		e.wait(e.request("r", holder))
		if err := e.refused(e.request("r", "other"), leasehold.ReasonHeld); err.Waiting != i+1 {
			e.Errorf("ErrHeld with %d waiters: Waiting = %d", i+1, err.Waiting)
		}
	}
	e.held(g.Lease)
}

func conflictChangesNothing(e *env) {
	g := e.acquire("r", "holder")
	for range 5 {
		r := e.request("r", "other")
		r.Metadata = map[string]string{"mine": "now"}
		r.ID = e.id()
		e.refused(r, leasehold.ReasonHeld)
	}
	l := e.held(g.Lease)
	if l.Renewals != 0 || len(l.Metadata) != 0 || l.TTL != e.long {
		e.Errorf("after refusals the lease is %+v, want it as granted", l)
	}
	e.renew(g.Lease)
	if e.h.can(History) {
		e.kinds("r", leasehold.KindAcquired, leasehold.KindRenewed)
	}
}

func sameHolderConflicts(e *env) {
	g := e.acquire("r", "h")
	e.refused(e.request("r", "h"), leasehold.ReasonHeld)
	e.held(g.Lease)
}

func remainingGoesDown(e *env) {
	r := e.brief("r", "holder")
	g := e.grant(r)
	step := e.short / 4
	e.pass(step)
	err := e.refused(e.request("r", "other"), leasehold.ReasonHeld)
	if !e.about(err.Current.Remaining, e.short-step) {
		e.Errorf("Current.Remaining after %v of %v = %v", step, e.short, err.Current.Remaining)
	}
	if l := e.held(g.Lease); !e.about(l.Remaining, e.short-step) {
		e.Errorf("Status.Remaining after %v of %v = %v", step, e.short, l.Remaining)
	}
	if e.h.Bubble {
		e.pass(e.short - step - time.Nanosecond)
		e.refused(e.request("r", "other"), leasehold.ReasonHeld)
	}
}
