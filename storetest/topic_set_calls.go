package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/leasehold/leasehold"
)

var setCallChecks = []check{
	{name: "Renew", run: renewSet, needs: []Capability{Sets}},
	{name: "Release", run: releaseSet, needs: []Capability{Sets}},
	{name: "Expire", run: expireSet, needs: []Capability{Sets}},
	{name: "BreakByItsOwnName", run: breakSet, needs: []Capability{Sets, Breaking}},
	{name: "BreakByANameOfSeveral", run: breakNameOfSeveral, needs: []Capability{Sets, Breaking}},
	{name: "BreakWithPeriod", run: breakSetsWithPeriod, needs: []Capability{Sets, Breaking}},
	{name: "BreakOfNothing", run: breakNoSet, needs: []Capability{Sets, Breaking}},
	{name: "Transfer", run: transferSet, needs: []Capability{Sets, Transfer}},
	{name: "Change", run: changeSet, needs: []Capability{Sets, Changing}},
	{name: "ForceRelease", run: forceSet, needs: []Capability{Sets, ForceRelease}},
	{name: "Find", run: findSet, needs: []Capability{Sets, Finding}},
}

// stillCovers expects a set to be held with all its claims.
func (e *env) stillCovers(l leasehold.Lease) {
	e.Helper()
	if got := e.held(l); !slices.Equal(got.Claims, l.Claims) {
		e.Errorf("Status(%q).Claims = %v, want %v", l.Resource, got.Claims, l.Claims)
	}
	for _, c := range l.Claims {
		e.refused(e.claims("nobody", c), leasehold.ReasonHeld, leasehold.ReasonBreaking)
	}
}

// allFree expects that each can be acquired.
func (e *env) allFree(claims ...leasehold.Claim) {
	e.Helper()
	for _, c := range claims {
		e.release(e.grant(e.claims("anybody", c)).Lease)
	}
}

// mixture claims names and patterns.
func (e *env) mixture(holder string) leasehold.AcquireRequest {
	return e.claims(holder, slices.Concat(leasehold.Resources("a", "b"), leasehold.Paths("ns", "src/**", "*.md"))...)
}

func renewSet(e *env) {
	g := e.grant(e.soon(e.mixture("h")))
	for want := 1; want <= 2; want++ {
		e.pass(e.short * 2 / 3)
		if l := e.renew(g.Lease); l.Resource != g.Resource || l.Renewals != want || !slices.Equal(l.Claims, g.Claims) {
			e.Errorf("Renew = %q with claims %v and %d renewals, want the set with %d", l.Resource, l.Claims, l.Renewals, want)
		}
	}
	e.stillCovers(g.Lease)
	_, err := e.store.Renew(e.Context(), leasehold.RenewRequest{ID: g.ID, Resource: "a"})
	e.reason("Renew by the name of a part", err, leasehold.ReasonNotFound)
}

func releaseSet(e *env) {
	g := e.grant(e.mixture("h"))
	if l := e.release(g.Lease); !slices.Equal(l.Claims, g.Claims) {
		e.Errorf("Release = claims %v, want the lease as it ended", l.Claims)
	}
	e.allFree(g.Claims...)
	e.ended(g.Lease, leasehold.StateReleased)
	e.reason("Release again", e.releaseErr(g.Lease), e.lost(leasehold.ReasonReleased)...)
}

func expireSet(e *env) {
	g := e.grant(e.soon(e.mixture("h")))
	e.stillCovers(g.Lease)
	e.outlive(e.short)
	e.free("a")
	e.ended(g.Lease, leasehold.StateExpired)
	e.acquire("a", "other") // before anything is cleaned up
	e.grant(e.claims("other", leasehold.Paths("ns", "**")...))
	e.reason("Renew", e.renewErr(g.Lease), e.lost(leasehold.ReasonExpired)...)
}

func breakSet(e *env) {
	g, other := e.grant(e.mixture("h")), e.grant(e.names("other", "c"))
	l, err := e.breakNow(g.Resource, "")
	if err != nil || l.State != leasehold.StateBroken || l.Token != g.Token || l.Resource != g.Resource || !l.ID.IsZero() {
		e.Fatalf("Break(%q) = %+v, %v; want it broken, without its id", g.Resource, l, err)
	}
	e.ended(g.Lease, leasehold.StateBroken)
	e.allFree(g.Claims...)
	e.reason("Renew", e.renewErr(g.Lease), e.lost(leasehold.ReasonBroken)...)
	e.stillCovers(other.Lease)
}

// breakNameOfSeveral breaks all that cover the name, and with them what else they
// have.
func breakNameOfSeveral(e *env) {
	var all []leasehold.Lease
	for i := range 3 {
		all = append(all, e.grant(e.claims(fmt.Sprint("h", i), shared(leasehold.Resources("a", fmt.Sprint("own", i)))...)).Lease)
	}
	other := e.grant(e.sharing("other", "own0"))
	if _, err := e.breakNow("a", "why"); err != nil {
		e.Fatalf("Break of a name that sets cover = %v, want success", err)
	}
	for _, l := range all {
		e.ended(l, leasehold.StateBroken)
		if e.h.can(History) {
			if r := e.kinds(l.Resource, leasehold.KindAcquired, leasehold.KindBroken)[1]; r.Why != "why" || r.Token != l.Token {
				e.Errorf("record of the break = %+v, want token %d and its reason", r, l.Token)
			}
		}
	}
	e.held(other.Lease)
	e.allFree(leasehold.Resources("a", "own1", "own2")...)
}

// breakSetsWithPeriod answers with the one that ends last.
func breakSetsWithPeriod(e *env) {
	short := e.grant(e.soon(e.sharing("short", "a")))
	long := e.grant(e.sharing("long", "a", "b"))
	period := e.short + time.Second
	l := e.breakIn("a", period)
	if l.Resource != long.Resource || l.State != leasehold.StateBreaking || !e.about(l.Remaining, period) {
		e.Errorf("Break = %v lease %q with %v remaining, want %q breaking for %v", l.State, l.Resource, l.Remaining, long.Resource, period)
	}
	for _, g := range []leasehold.Grant{short, long} {
		if l := e.held(g.Lease); l.State != leasehold.StateBreaking {
			e.Errorf("Status(%q) = %v, want breaking", g.Resource, l.State)
		}
	}
	e.refused(e.request("b", "other"), leasehold.ReasonBreaking)
	e.outlive(period)
	e.allFree(leasehold.Resources("a", "b")...)
	e.ended(long.Lease, leasehold.StateBroken)
}

// breakNoSet expects paths and ended sets to be nothing that a name can break.
func breakNoSet(e *env) {
	g := e.grant(e.claims("h", leasehold.Paths("ns", "a")...))
	e.release(e.grant(e.names("h", "b")).Lease)
	for _, name := range []string{"a", "b", leasehold.SetPrefix + "999999"} {
		_, err := e.breakNow(name, "")
		e.reason("Break("+name+")", err, leasehold.ReasonNotFound)
	}
	e.held(g.Lease)
}

func transferSet(e *env) {
	g := e.grant(e.mixture("old"))
	next := e.transfer(g.Lease, "new", e.id())
	if next.Resource != g.Resource || !slices.Equal(next.Claims, g.Claims) {
		e.Errorf("Transfer = %q with claims %v, want %q with %v", next.Resource, next.Claims, g.Resource, g.Claims)
	}
	e.stillCovers(next)
	e.reason("Renew with the old id", e.renewErr(g.Lease), leasehold.ReasonReleased)
	r := e.mixture("new")
	r.Claims = shared(r.Claims)
	up := e.grant(withID(r, next.ID)) // it is the new holder's to downgrade
	if up.Resource != g.Resource || up.Token <= next.Token {
		e.Errorf("downgrade after the transfer = %q with token %d, want %q with a token above %d", up.Resource, up.Token, g.Resource, next.Token)
	}
	e.release(up.Lease)
	e.allFree(g.Claims...)
}

func changeSet(e *env) {
	r := e.mixture("h")
	g := e.grant(r)
	changed := e.change(g.Lease, e.id())
	if changed.Resource != g.Resource || !slices.Equal(changed.Claims, g.Claims) {
		e.Errorf("Change = %q with claims %v, want %q with %v", changed.Resource, changed.Claims, g.Resource, g.Claims)
	}
	e.stillCovers(changed)
	e.reason("Renew with the old id", e.renewErr(g.Lease), leasehold.ReasonNotFound)
	g.Lease = changed
	e.again(r, g)
	e.release(changed)
}

func forceSet(e *env) {
	a, b := e.grant(e.mixture("bad")), e.grant(e.names("bad", "c"))
	good := e.grant(e.names("good", "d"))
	e.force("bad", "", 2)
	for _, g := range []leasehold.Grant{a, b} {
		e.ended(g.Lease, leasehold.StateReleased)
		e.allFree(g.Claims...)
	}
	e.stillCovers(good.Lease)
}

// findSet leaves out the name, which a caller that lost the answer does not know.
func findSet(e *env) {
	g := e.grant(withID(e.mixture("h"), e.id()))
	if l := e.found(g.Lease, leasehold.StateActive); !slices.Equal(l.Claims, g.Claims) {
		e.Errorf("Find = claims %v, want %v", l.Claims, g.Claims)
	}
	if l, err := e.store.Renew(e.Context(), leasehold.RenewRequest{ID: g.ID}); err != nil || l.Resource != g.Resource {
		e.Errorf("Renew by the id alone = %q, %v; want %q", l.Resource, err, g.Resource)
	}
	if _, err := e.store.Release(e.Context(), leasehold.ReleaseRequest{ID: g.ID}); err != nil {
		e.Errorf("Release by the id alone = %v, want success", err)
	}
	e.allFree(g.Claims...)
}

var setViewChecks = []check{
	{name: "StatusOfAName", run: statusOfSets, needs: []Capability{Sets}},
	{name: "StatusOfSeveral", run: statusOfSeveral, needs: []Capability{Sets}},
	{name: "List", run: listsSets, needs: []Capability{Sets, Listing}},
	{name: "ListByNamespaceAndPath", run: listsByPath, needs: []Capability{Sets, Listing}},
	{name: "HistoryOfASet", run: historyOfSet, needs: []Capability{Sets, ExpiryRecords}},
	{name: "RefusalsLeaveNoHistory", run: setRefusalsUnrecorded, needs: []Capability{Sets, History}},
}

// covered expects the live leases on a name, by token.
func (e *env) covered(name string, want ...leasehold.Grant) leasehold.Status {
	e.Helper()
	s := e.status(name)
	if len(s.Leases) != len(want) {
		e.Fatalf("Status(%q) shows %d leases, want %d", name, len(s.Leases), len(want))
	}
	for i, g := range want {
		if l := s.Leases[i]; l.Resource != g.Resource || l.Token != g.Token || l.Holder != g.Holder || !slices.Equal(l.Claims, g.Claims) {
			e.Errorf("Status(%q).Leases[%d] = %q of %q with token %d, want %q of %q with token %d", name, i, l.Resource, l.Holder, l.Token, g.Resource, g.Holder, g.Token)
		}
		if !s.Check(g.Token) {
			e.Errorf("Status(%q).Check(%d) = false, want true for each holder", name, g.Token)
		}
	}
	if len(want) > 0 && (!s.Locked() || s.Lease.Token != want[0].Token) {
		e.Errorf("Status(%q) = %s, want the lease with token %d first", name, describeStatus(s), want[0].Token)
	}
	return s
}

func statusOfSets(e *env) {
	plain := e.acquire("a", "h")
	if s := e.status("a"); s.Leases != nil {
		e.Errorf("Status of a plain lease has Leases %v, want none", s.Leases)
	}
	e.release(plain.Lease)
	g := e.grant(e.mixture("h"))
	for _, name := range []string{"a", "b"} {
		if s := e.covered(name, g); s.Check(plain.Token) || s.Check(g.Token+1) {
			e.Errorf("Status(%q).Check = true for a token of nobody", name)
		}
	}
	e.free("src/x") // a path is no name
	e.release(g.Lease)
	e.free("a")
	if s := e.covered("a"); s.Check(g.Token) {
		e.Error("Status.Check = true after the release")
	}
}

func statusOfSeveral(e *env) {
	first, second := e.grant(e.sharing("first", "a", "b")), e.grant(e.sharing("second", "a"))
	third := e.grant(e.sharing("third", "c", "a"))
	e.covered("a", first, second, third)
	e.covered("b", first)
	e.release(second.Lease)
	if s := e.covered("a", first, third); s.Check(second.Token) {
		e.Error("Status.Check = true for the one that was released")
	}
	e.release(first.Lease)
	e.covered("a", third)
	e.release(third.Lease)
	e.free("a")
	e.covered("a")
}

func listsSets(e *env) {
	plain := e.acquire("a!", "h")
	first := e.grant(e.names("h", "a", "b"))
	second := e.grant(e.sharing("other", "c"))
	third := e.grant(e.sharing("h", "c", "d"))
	sets := []string{first.Resource, second.Resource, third.Resource}
	slices.Sort(sets)
	for _, l := range e.lists(leasehold.ListRequest{Prefix: leasehold.SetPrefix}, sets...) {
		if l.Resource == first.Resource && !slices.Equal(l.Claims, first.Claims) {
			e.Errorf("List shows the claims %v, want %v", l.Claims, first.Claims)
		}
	}
	both := append([]string{plain.Resource}, sets...)
	slices.Sort(both)
	e.lists(leasehold.ListRequest{}, both...)
	e.lists(leasehold.ListRequest{Limit: 1}, both...)
	e.lists(leasehold.ListRequest{Resource: "a"}, first.Resource)
	e.lists(leasehold.ListRequest{Resource: "a!"}, "a!")
	e.lists(leasehold.ListRequest{Resource: first.Resource}, first.Resource)
	shared := []string{second.Resource, third.Resource}
	slices.Sort(shared)
	e.lists(leasehold.ListRequest{Resource: "c"}, shared...)
	e.lists(leasehold.ListRequest{Resource: "c", Limit: 1}, shared...)
	e.lists(leasehold.ListRequest{Resource: "c", Holder: "h"}, third.Resource)
	e.release(third.Lease)
	e.lists(leasehold.ListRequest{Resource: "d"})
}

func listsByPath(e *env) {
	e.acquire("src/a", "h")
	e.grant(e.names("h", "src/b"))
	auth := e.grant(e.claims("h", leasehold.Paths("repo", "src/auth/**", "go.mod")...))
	docs := e.grant(e.claims("other", append(leasehold.Paths("repo", "docs/*.md"), leasehold.Paths("wiki", "src/auth/x")...)...))
	both := []string{auth.Resource, docs.Resource}
	slices.Sort(both)
	for _, c := range []struct {
		namespace, path string
		want            []string
	}{
		{"repo", "", both},
		{"repo", "**", both},
		{"repo", "src/auth/login.go", []string{auth.Resource}},
		{"repo", "**/*.go", []string{auth.Resource}},
		{"repo", "docs/**", []string{docs.Resource}},
		{"repo", "docs/a/b.md", nil},
		{"wiki", "", []string{docs.Resource}},
		{"wiki", "src/**", []string{docs.Resource}},
		{"none", "", nil},
	} {
		e.lists(leasehold.ListRequest{Namespace: c.namespace, Path: c.path}, c.want...)
		e.lists(leasehold.ListRequest{Namespace: c.namespace, Path: c.path, Limit: 1}, c.want...)
	}
	e.lists(leasehold.ListRequest{Namespace: "repo", Holder: "h"}, auth.Resource)
	e.release(auth.Lease)
	e.lists(leasehold.ListRequest{Namespace: "repo"}, docs.Resource)
}

// recordedClaims expects a record to say what the set covers.
func (e *env) recordedClaims(r leasehold.Record, want []leasehold.Claim) {
	e.Helper()
	var got []leasehold.Claim
	if err := json.Unmarshal([]byte(r.Details["claims"]), &got); err != nil || !slices.Equal(got, want) {
		e.Errorf("record %d has the claims %s (%v), want %v", r.Seq, r.Details["claims"], err, want)
	}
}

func historyOfSet(e *env) {
	r := withID(e.soon(e.mixture("h")), e.id())
	g := e.grant(r)
	e.renew(g.Lease)
	r.Claims = shared(r.Claims)
	down := e.grant(r)
	e.again(r, down)
	e.outlive(e.short)
	e.allFree(g.Claims...)
	e.eventually("a record of the expiry", func() bool {
		return len(readHistory(e.TB, e.store, leasehold.HistoryRequest{Resource: g.Resource})) == 5
	})
	records := e.kinds(g.Resource, leasehold.KindAcquired, leasehold.KindRenewed, leasehold.KindAcquired, leasehold.KindRenewed, leasehold.KindExpired)
	e.recordedClaims(records[0], g.Claims)
	e.recordedClaims(records[2], down.Claims)
	if got := records[0].Details["replaces_token"]; got != "" {
		e.Errorf("the first grant replaces token %s", got)
	}
	if r := records[2]; r.Details["replaces_token"] != fmt.Sprint(g.Token) || r.Token != down.Token || r.Renewals != 2 {
		e.Errorf("record of the downgrade = %+v, want token %d instead of %d", r, down.Token, g.Token)
	}
	if r := records[4]; r.Token != down.Token || r.Holder != "h" {
		e.Errorf("record of the expiry = %+v, want token %d", r, down.Token)
	}
}

func setRefusalsUnrecorded(e *env) {
	e.grant(e.names("h", "a", "b"))
	e.refused(e.names("other", "b", "c"), leasehold.ReasonHeld)
	e.refused(e.request("a", "other"), leasehold.ReasonHeld)
	if n := len(ReadHistory(e.TB, e.store)); n != 1 {
		e.Errorf("refusals left %d history records", n-1)
	}
}
