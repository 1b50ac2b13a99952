package storetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold/leasehold"
)

var setChecks = []check{
	{name: "OneLeaseForAll", run: setIsOneLease, needs: []Capability{Sets}},
	{name: "AllOrNothing", run: setAllOrNothing, needs: []Capability{Sets}},
	{name: "PatternsOverlap", run: patternsOverlap, needs: []Capability{Sets}},
	{name: "PatternsApart", run: patternsApart, needs: []Capability{Sets}},
	{name: "NamespacesAreApart", run: namespacesApart, needs: []Capability{Sets}},
	{name: "NameAgainstSet", run: nameAgainstSet, needs: []Capability{Sets}},
	{name: "SetAgainstName", run: setAgainstName, needs: []Capability{Sets}},
	{name: "RefusalShowsTheOverlap", run: refusalShowsOverlap, needs: []Capability{Sets}},
	{name: "OneHolderTwice", run: setOfOneHolderTwice, needs: []Capability{Sets}},
	{name: "OverlapsWithItself", run: setOverlapsItself, needs: []Capability{Sets}},
	{name: "TokensGrowOnEveryName", run: setTokensGrow, needs: []Capability{Sets}},
	{name: "AtTheLimits", run: setsAtLimits, needs: []Capability{Sets}},
}

// claims requests a set that lasts longer than the check.
func (e *env) claims(holder string, claims ...leasehold.Claim) leasehold.AcquireRequest {
	return leasehold.AcquireRequest{Claims: claims, Holder: holder, TTL: e.long}
}

// names requests several names, exclusively.
func (e *env) names(holder string, names ...string) leasehold.AcquireRequest {
	return e.claims(holder, leasehold.Resources(names...)...)
}

// shared are the claims in shared mode.
func shared(claims []leasehold.Claim) []leasehold.Claim {
	claims = slices.Clone(claims)
	for i := range claims {
		claims[i].Mode = leasehold.Shared
	}
	return claims
}

// sharing requests several names, shared.
func (e *env) sharing(holder string, names ...string) leasehold.AcquireRequest {
	return e.claims(holder, shared(leasehold.Resources(names...))...)
}

// soon makes a lease one that is meant to expire.
func (e *env) soon(r leasehold.AcquireRequest) leasehold.AcquireRequest {
	r.TTL = e.short
	return r
}

// inTheWay expects a refusal to name the lease and where it overlaps.
func (e *env) inTheWay(err *leasehold.Error, l leasehold.Lease, requested, held leasehold.Claim, part string) {
	e.Helper()
	if err.Current == nil || err.Current.Resource != l.Resource || err.Current.Holder != l.Holder || err.Current.Token != l.Token || !slices.Equal(err.Current.Claims, l.Claims) {
		e.Errorf("%v: Current = %+v, want the lease %q of %q with token %d and claims %v", err, err.Current, l.Resource, l.Holder, l.Token, l.Claims)
	}
	want := &leasehold.Overlap{Requested: requested, Held: held, Part: part}
	if diff := cmp.Diff(want, err.Overlap); diff != "" {
		e.Errorf("%v: Overlap differs (-want +got):\n%s", err, diff)
	}
	if err.Reserved != "" {
		e.Errorf("%v: Reserved = %q where a lease is in the way", err, err.Reserved)
	}
}

func setIsOneLease(e *env) {
	r := e.claims("h", slices.Concat(leasehold.Resources("b", "a"), leasehold.Paths("ns", "src/**"))...)
	r.Metadata = map[string]string{"k": "v"}
	g := e.grant(r)
	if want := leasehold.SetPrefix + fmt.Sprint(g.Token); g.Resource != want {
		e.Errorf("the lease is named %q, want %q", g.Resource, want)
	}
	if g.Idempotent || g.Renewals != 0 || !maps.Equal(g.Metadata, r.Metadata) {
		e.Errorf("Acquire of a set = %+v, want a new lease with its metadata", g)
	}
	if l := e.held(g.Lease); !slices.Equal(l.Claims, r.Claims) {
		e.Errorf("Status(%q).Claims = %v, want %v in this order", g.Resource, l.Claims, r.Claims)
	}
	one := e.grant(e.names("h", "alone")) // of one claim is a set all the same
	if !strings.HasPrefix(one.Resource, leasehold.SetPrefix) || one.Resource == g.Resource {
		e.Errorf("a set of one claim is named %q, want a name of its own", one.Resource)
	}
}

func setAllOrNothing(e *env) {
	names := []string{"a", "b", "c"}
	other := e.acquire("b", "other")
	e.refused(e.names("h", names...), leasehold.ReasonHeld)
	for _, name := range []string{"a", "c"} {
		e.free(name)
		e.release(e.acquire(name, "third").Lease)
	}
	e.release(other.Lease)
	g := e.grant(e.names("h", names...))
	for _, name := range names {
		e.refused(e.request(name, "other"), leasehold.ReasonHeld)
	}
	e.refused(e.names("other", "d", "c"), leasehold.ReasonHeld)
	e.free("d")
	e.release(g.Lease)
	for _, name := range names {
		e.acquire(name, "other")
	}
}

// overlapping are patterns that meet. Part is where, if it can only be one.
var overlapping = []struct{ namespace, a, b, part string }{
	{"ns", "src/auth/**", "src/auth/login.go", "src/auth/login.go"},
	{"ns", "src/**", "src", "src"},
	{"ns", "src/**", "src/a/b/c", "src/a/b/c"},
	{"ns", "go.mod", "go.mod", "go.mod"},
	{"ns", "**", "a", "a"},
	{"ns", "**", "**", "**"},
	{"ns", "docs/*.md", "docs/readme.md", "docs/readme.md"},
	{"ns", "docs/*.md", "docs/.md", "docs/.md"},
	{"ns", "a/*/c", "a/b/*", "a/b/c"},
	{"ns", "b*", "*a", ""},
	{"ns", "a/**/z", "a/z", "a/z"},
	{"ns", "a/**/z", "a/b/c/z", "a/b/c/z"},
	{"ns", "**/*.go", "x.go", "x.go"},
	{"ns", "**/*.go", "src/**", ""},
	{"ns", "*a*b*", "xaybz", "xaybz"},
	{"ns", "日*", "*語", ""},
	{"ns", "a:b", "a:*", "a:b"}, // a colon is plain data here
	{"services:", "prod:us:**", "prod:us:east:1", "prod:us:east:1"},
	{"services:", "prod:*:db", "prod:us:*", "prod:us:db"},
}

func patternsOverlap(e *env) {
	for _, c := range overlapping {
		for _, p := range [][2]string{{c.a, c.b}, {c.b, c.a}} {
			held, requested := leasehold.Paths(c.namespace, p[0])[0], leasehold.Paths(c.namespace, p[1])[0]
			g := e.grant(e.claims("h", held))
			err := e.refused(e.claims("other", leasehold.Paths("elsewhere", "x")[0], requested), leasehold.ReasonHeld)
			part := c.part
			if part == "" && err.Overlap != nil && err.Overlap.Part != "" {
				part = err.Overlap.Part // one of many; but held it is
				e.refused(e.claims("third", leasehold.Paths(c.namespace, part)...), leasehold.ReasonHeld)
			}
			e.inTheWay(err, g.Lease, requested, held, part)
			e.release(g.Lease)
		}
	}
}

func patternsApart(e *env) {
	for _, p := range [][3]string{
		{"ns", "src/**", "src2"}, {"ns", "src/**", "src2/a"}, {"ns", "src/*", "src"}, {"ns", "src/*", "src/a/b"},
		{"ns", "docs/*.md", "docs/a/b.md"}, {"ns", "docs/*.md", "docs/readme.txt"}, {"ns", "*", "a/b"},
		{"ns", "a*", "b*"}, {"ns", "*a", "*b"}, {"ns", "A", "a"}, {"ns", "é", "e\u0301"}, {"ns", "é*", "è"},
		{"ns", "a/**/z", "a/b"}, {"ns", "a/*/c", "a/*/d"}, {"ns", "go.mod", "go.sum"}, {"ns", "a.c", "abc"},
		{"ns", "[ab]", "a"}, {"ns", "?", "a"}, {"ns", "{a,b}", "a"}, {"ns", "a%", "ab"},
		{"services:", "prod:us:**", "prod:eu:east"}, {"services:", "prod:*", "prod:us:db"},
	} {
		a := e.grant(e.claims("h", leasehold.Paths(p[0], p[1])...))
		b := e.grant(e.claims("other", leasehold.Paths(p[0], p[2])...))
		e.release(a.Lease)
		e.release(e.grant(e.claims("h", leasehold.Paths(p[0], p[1])...)).Lease)
		e.release(b.Lease)
	}
}

func namespacesApart(e *env) {
	for _, c := range []leasehold.Claim{
		{Namespace: "one", Pattern: "a/**"}, {Namespace: "two", Pattern: "a/**"}, {Namespace: "One", Pattern: "a/**"},
		{Namespace: "one:", Pattern: "**"}, {Pattern: "a/**"}, {Pattern: "a/*"}, {Pattern: "**"}, {Pattern: "a"},
	} {
		e.grant(e.claims("h", c))
	}
	e.acquire("a/b", "h") // the wildcards of names are plain data
	e.acquire("one", "h")
	e.refused(e.request("**", "other"), leasehold.ReasonHeld)
}

func nameAgainstSet(e *env) {
	a := leasehold.Claim{Pattern: "a"}
	for _, held := range []leasehold.Claim{a, {Pattern: "a", Mode: leasehold.Shared}} {
		g := e.grant(e.claims("h", leasehold.Claim{Pattern: "b"}, held))
		e.inTheWay(e.refused(e.request("a", "other"), leasehold.ReasonHeld), g.Lease, a, held, "a")
		e.release(g.Lease)
		e.release(e.acquire("a", "other").Lease)
	}
}

func setAgainstName(e *env) {
	g := e.acquire("a", "h")
	for _, requested := range []leasehold.Claim{{Pattern: "a"}, {Pattern: "a", Mode: leasehold.Shared}} {
		err := e.refused(e.claims("other", leasehold.Claim{Pattern: "b"}, requested), leasehold.ReasonHeld)
		e.inTheWay(err, g.Lease, requested, leasehold.Claim{Pattern: "a"}, "a")
	}
	e.release(g.Lease)
	e.grant(e.names("other", "b", "a"))
}

func refusalShowsOverlap(e *env) {
	g := e.grant(e.claims("h", slices.Concat(leasehold.Resources("go.mod"), leasehold.Paths("repo", "src/auth/**", "docs/*.md"))...))
	requested := leasehold.Paths("repo", "README", "src/**")
	err := e.refused(e.claims("other", requested...), leasehold.ReasonHeld)
	e.inTheWay(err, g.Lease, requested[1], g.Claims[1], "src/auth/**")
	if !e.about(err.Current.Remaining, e.long) {
		e.Errorf("Current.Remaining = %v, want %v", err.Current.Remaining, e.long)
	}
	if e.h.can(Breaking) {
		e.breakIn(g.Resource, 30*time.Second)
		err := e.refused(e.claims("other", requested...), leasehold.ReasonBreaking)
		e.inTheWay(err, g.Lease, requested[1], g.Claims[1], "src/auth/**")
	}
	e.acquire("plain", "h")
	if err := e.refused(e.request("plain", "other"), leasehold.ReasonHeld); err.Overlap != nil {
		e.Errorf("the refusal of a plain name has Overlap %+v, want none", err.Overlap)
	}
}

func setOfOneHolderTwice(e *env) {
	g := e.grant(e.names("h", "a", "b"))
	err := e.refused(e.names("h", "b", "c"), leasehold.ReasonHeld)
	e.inTheWay(err, g.Lease, leasehold.Claim{Pattern: "b"}, leasehold.Claim{Pattern: "b"}, "b")
	e.refused(e.request("a", "h"), leasehold.ReasonHeld)
	e.grant(e.names("h", "c", "d"))
}

func setOverlapsItself(e *env) {
	claims := leasehold.Paths("ns", "src/**", "src/a", "**")
	claims[1].Mode = leasehold.Shared
	g := e.grant(e.claims("h", claims...))
	e.refused(e.claims("other", leasehold.Claim{Namespace: "ns", Pattern: "src/a", Mode: leasehold.Shared}), leasehold.ReasonHeld)
	e.release(g.Lease)
}

// setTokensGrow is what a guard of one name relies on.
func setTokensGrow(e *env) {
	var last uint64
	for _, r := range []leasehold.AcquireRequest{
		e.request("a", "h"), e.names("h", "a", "b"), e.request("b", "h"), e.names("h", "b"), e.request("a", "h"), e.names("h", "c", "a"),
	} {
		g := e.grant(r)
		if g.Token <= last {
			e.Errorf("Acquire(%s) = token %d after %d, want tokens to grow on every name", requested(r), g.Token, last)
		}
		last = g.Token
		e.release(g.Lease)
	}
}

func setsAtLimits(e *env) {
	var many, big []string
	for i := range leasehold.MaxClaims {
		many = append(many, fmt.Sprintf("many%d", i))
	}
	for i := range leasehold.MaxClaimsSize / leasehold.MaxPattern {
		name := fmt.Sprintf("%dx", i) + longText(leasehold.MaxPattern)
		big = append(big, name[:leasehold.MaxPattern])
	}
	deep := strings.TrimSuffix(strings.Repeat("s/", leasehold.MaxSegments), "/")
	for _, r := range []leasehold.AcquireRequest{
		e.names("h", many...),
		e.names("h", big...),
		e.claims("h", leasehold.Paths("deep", deep)...),
		e.claims("h", leasehold.Paths(longText(leasehold.MaxNamespace), longText(leasehold.MaxPattern))...),
	} {
		g := e.grant(r)
		last := r.Claims[len(r.Claims)-1]
		e.refused(e.claims("other", last), leasehold.ReasonHeld)
		e.release(g.Lease)
		e.release(e.grant(e.claims("other", last)).Lease)
	}
}

var modeChecks = []check{
	{name: "SharedTogether", run: sharedTogether, needs: []Capability{Sets}},
	{name: "ExclusiveKeepsOthersOut", run: exclusiveAlone, needs: []Capability{Sets}},
	{name: "EachClaimHasItsOwn", run: modesOfEachClaim, needs: []Capability{Sets}},
}

func sharedTogether(e *env) {
	var readers []leasehold.Grant
	for i := range 3 {
		readers = append(readers, e.grant(e.claims(fmt.Sprint("reader", i), shared(leasehold.Paths("ns", "src/**"))...)))
	}
	readers = append(readers, e.grant(e.claims("reader of one", shared(leasehold.Paths("ns", "src/a"))...)))
	for _, g := range readers {
		e.held(g.Lease)
		e.refused(e.claims("writer", leasehold.Paths("ns", "src/a")...), leasehold.ReasonHeld)
		e.release(g.Lease)
	}
	e.grant(e.claims("writer", leasehold.Paths("ns", "src/a")...))
}

func exclusiveAlone(e *env) {
	exclusive, shared := e.names("h", "a"), e.sharing("h", "a")
	for _, c := range []struct{ held, refused leasehold.AcquireRequest }{
		{exclusive, exclusive}, {exclusive, shared}, {shared, exclusive}, {shared, e.request("a", "h")}, {e.request("a", "h"), shared},
	} {
		g := e.grant(c.held)
		c.refused.Holder = "other"
		e.refused(c.refused, leasehold.ReasonHeld)
		e.held(g.Lease)
		e.release(g.Lease)
	}
}

func modesOfEachClaim(e *env) {
	mixed := func(read, write string) []leasehold.Claim {
		return []leasehold.Claim{{Pattern: read, Mode: leasehold.Shared}, {Pattern: write}}
	}
	first := e.grant(e.claims("first", mixed("a", "b")...))
	e.grant(e.claims("second", mixed("a", "c")...))
	read := leasehold.Claim{Pattern: "b", Mode: leasehold.Shared}
	e.inTheWay(e.refused(e.claims("third", mixed("b", "d")...), leasehold.ReasonHeld), first.Lease, read, leasehold.Claim{Pattern: "b"}, "b")
	write := leasehold.Claim{Pattern: "a"}
	e.inTheWay(e.refused(e.claims("third", mixed("d", "a")...), leasehold.ReasonHeld), first.Lease, write, first.Claims[0], "a")
}

var setIDChecks = []check{
	{name: "AgainIsARenewal", run: setAgain, needs: []Capability{Sets}},
	{name: "UpgradeAndDowngrade", run: upgradeAndDowngrade, needs: []Capability{Sets}},
	{name: "UpgradeCountsAsARenewal", run: upgradeCounts, needs: []Capability{Sets, MaxRenewals}},
	{name: "UpgradeIsRefused", run: upgradeRefused, needs: []Capability{Sets}},
	{name: "OtherPatternsAreAnotherLease", run: setIDInUse, needs: []Capability{Sets, UniqueIDs}},
	{name: "OfAnotherHolder", run: setIDOfAnother, needs: []Capability{Sets}},
	{name: "EndedIsSpent", run: setIDSpent, needs: []Capability{Sets, Memory, Breaking}},
}

func setAgain(e *env) {
	r := withID(e.soon(e.names("h", "a", "b")), e.id())
	first := e.grant(r)
	e.pass(e.short / 2)
	if g := e.again(r, first); g.Resource != first.Resource || g.Renewals != 1 {
		e.Errorf("Acquire again = %q with %d renewals, want %q with 1", g.Resource, g.Renewals, first.Resource)
	}
	if e.h.can(Waiting) {
		if g := e.wait(r).granted(); !g.Idempotent || g.Token != first.Token || g.Resource != first.Resource {
			e.Errorf("Wait again = %q with token %d, idempotent %v; want the lease held", g.Resource, g.Token, g.Idempotent)
		}
	}
	e.release(first.Lease)
}

func upgradeAndDowngrade(e *env) {
	r := withID(e.soon(e.sharing("h", "a", "b")), e.id())
	r.Metadata = map[string]string{"k": "v"}
	first := e.grant(r)
	e.pass(e.short / 2)
	up := r
	up.Claims = []leasehold.Claim{{Pattern: "a"}, {Pattern: "b", Mode: leasehold.Shared}}
	up.Metadata = map[string]string{"k": "other"}
	before := first.Lease
	for i, change := range []leasehold.AcquireRequest{up, r} {
		g := e.grant(change)
		if g.Resource != first.Resource || g.Token <= before.Token || g.Idempotent || g.Renewals != i+1 || !maps.Equal(g.Metadata, r.Metadata) {
			e.Errorf("Acquire in other modes = %q, token %d, idempotent %v, %d renewals, metadata %q; want %q, a token above %d, %d renewals and the metadata of the first grant",
				g.Resource, g.Token, g.Idempotent, g.Renewals, g.Metadata, first.Resource, before.Token, i+1)
		}
		if l := e.held(g.Lease); !slices.Equal(l.Claims, change.Claims) {
			e.Errorf("Status(%q).Claims = %v, want %v", g.Resource, l.Claims, change.Claims)
		}
		_, err := e.store.Renew(e.Context(), leasehold.RenewRequest{ID: r.ID, Resource: g.Resource, Token: before.Token})
		e.reason("Renew with the token before", err, leasehold.ReasonTokenMismatch)
		before = g.Lease
		e.held(g.Lease)
		if i == 0 {
			e.refused(e.sharing("other", "a"), leasehold.ReasonHeld)
			e.release(e.grant(e.sharing("other", "b")).Lease)
		}
	}
	e.release(e.grant(e.sharing("other", "a", "b")).Lease)
	e.release(before)
}

func upgradeCounts(e *env) {
	r := withID(e.sharing("h", "a"), e.id())
	r.MaxRenewals = new(int)
	*r.MaxRenewals = 1
	e.grant(r)
	r.Claims = leasehold.Resources("a")
	g := e.grant(r)
	r.Claims = shared(r.Claims)
	e.refused(r, leasehold.ReasonMaxRenewals)
	if l := e.held(g.Lease); !slices.Equal(l.Claims, leasehold.Resources("a")) {
		e.Errorf("after a refused downgrade the claims are %v", l.Claims)
	}
}

// upgradeRefused leaves the lease as it was.
func upgradeRefused(e *env) {
	r := withID(e.sharing("h", "a", "b"), e.id())
	g, other := e.grant(r), e.grant(e.sharing("other", "b"))
	up := r
	up.Claims = leasehold.Resources("a", "b")
	err := e.refused(up, leasehold.ReasonHeld)
	e.inTheWay(err, other.Lease, leasehold.Claim{Pattern: "b"}, other.Claims[0], "b")
	if l := e.held(g.Lease); !slices.Equal(l.Claims, r.Claims) || l.Renewals != 0 {
		e.Errorf("after a refused upgrade the lease has claims %v and %d renewals, want it as it was", l.Claims, l.Renewals)
	}
	e.release(other.Lease)
	e.grant(up)
}

func setIDInUse(e *env) {
	g := e.grant(e.names("h", "a", "b"))
	for _, r := range []leasehold.AcquireRequest{
		e.names("h", "b", "a"), e.names("h", "a"), e.names("h", "a", "b", "c"), e.names("h", "x"), e.request("x", "h"),
		e.claims("h", leasehold.Paths("ns", "a", "b")...), e.names("other", "x"),
	} {
		e.refused(withID(r, g.ID), leasehold.ReasonIDInUse)
	}
	plain := e.acquire("plain", "h")
	e.refused(withID(e.names("h", "x", "y"), plain.ID), leasehold.ReasonIDInUse)
	if l := e.held(g.Lease); l.Renewals != 0 {
		e.Errorf("requests with the id in use renewed the lease %d times", l.Renewals)
	}
	e.free("x")
}

func setIDOfAnother(e *env) {
	r := e.sharing("h", "a")
	g := e.grant(r)
	for _, claims := range [][]leasehold.Claim{r.Claims, leasehold.Resources("a")} {
		e.refused(withID(e.claims("thief", claims...), g.ID), leasehold.ReasonHeld)
	}
	if l := e.held(g.Lease); l.Renewals != 0 {
		e.Error("a foreign request with the id renewed the lease")
	}
}

func setIDSpent(e *env) {
	end := map[leasehold.Reason]func(leasehold.Lease){
		leasehold.ReasonReleased: func(l leasehold.Lease) { e.release(l) },
		leasehold.ReasonExpired:  func(leasehold.Lease) { e.outlive(e.short) },
		leasehold.ReasonBroken:   func(l leasehold.Lease) { e.breakIn(l.Resource, 0) },
	}
	for want, f := range end {
		r := withID(e.soon(e.names("h", "a", "b")), e.id())
		g := e.grant(r)
		f(g.Lease)
		e.refused(r, want)
		e.refused(withID(e.names("h", "c"), r.ID), want)
		e.refused(withID(e.request("c", "h"), r.ID), want)
		e.reason("Renew", e.renewErr(g.Lease), want)
		e.reason("Release", e.releaseErr(g.Lease), want)
	}
}
