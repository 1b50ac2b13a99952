package storetest

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
)

var invalidChecks = []check{
	{name: "Acquire", run: invalidAcquire},
	{name: "Wait", run: invalidWait, needs: []Capability{Waiting}},
	{name: "TTLOutsideTheStoresLimits", run: invalidForStore},
	{name: "Renew", run: invalidRenew},
	{name: "Release", run: invalidRelease},
	{name: "Status", run: invalidStatus},
	{name: "Break", run: invalidBreak, needs: []Capability{Breaking}},
	{name: "Change", run: invalidChange, needs: []Capability{Changing}},
	{name: "Transfer", run: invalidTransfer, needs: []Capability{Transfer}},
	{name: "Find", run: invalidFind, needs: []Capability{Finding}},
	{name: "SetNames", run: invalidSetNames},
	{name: "Claims", run: invalidClaims, needs: []Capability{Sets}},
	{name: "ClaimsOfAWait", run: invalidClaimsOfWait, needs: []Capability{Sets, Waiting}},
	{name: "Notes", run: invalidNotes, needs: []Capability{Notes}},
	{name: "ListPath", run: invalidListPath, needs: []Capability{Sets, Listing}},
}

// invalid expects a refusal that names the field and says what is wrong.
func (e *env) invalid(call string, err error, field string) {
	e.Helper()
	if err := e.reason(call, err, leasehold.ReasonInvalid); err.Field != field || err.Problem == "" {
		e.Errorf("%s names the field %q with the problem %q, want the field %q", call, err.Field, err.Problem, field)
	}
}

// untouched runs f between two looks at the store: it must change nothing.
func (e *env) untouched(f func(held leasehold.Grant)) {
	e.Helper()
	g := e.acquire("held", "h")
	f(g)
	if l := e.held(g.Lease); l.Renewals != 0 || l.TTL != e.long || len(l.Metadata) != 0 || l.State != leasehold.StateActive {
		e.Errorf("after refusals the lease is %+v, want it as granted", l)
	}
	e.free("free")
	if e.h.can(Memory) && e.status("free").Lease != nil {
		e.Error("a refusal left a lease")
	}
	if e.h.can(Listing) {
		e.lists(leasehold.ListRequest{}, "held")
	}
	if e.h.can(History) {
		if n := len(ReadHistory(e.TB, e.store)); n != 1 {
			e.Errorf("refusals left %d history records", n-1)
		}
	}
	e.renew(g.Lease)
}

func invalidAcquire(e *env) {
	e.untouched(func(leasehold.Grant) {
		for _, bad := range badAcquires() {
			for _, resource := range []string{"free", "held"} {
				r := e.request(resource, "other")
				bad.spoil(&r)
				_, err := e.store.Acquire(e.Context(), r)
				e.invalid("Acquire with "+bad.what, err, bad.field)
			}
		}
	})
}

func invalidWait(e *env) {
	e.untouched(func(leasehold.Grant) {
		for _, bad := range badAcquires() {
			for _, resource := range []string{"free", "held"} {
				r := e.request(resource, "other")
				r.Timeout = time.Second
				bad.spoil(&r)
				_, err := power[leasehold.Waiter](e).Wait(e.Context(), r)
				e.invalid("Wait with "+bad.what, err, bad.field)
			}
		}
	})
}

func invalidForStore(e *env) {
	e.untouched(func(g leasehold.Grant) {
		for _, ttl := range []time.Duration{e.h.MinTTL - time.Millisecond, e.h.MaxTTL + time.Millisecond} {
			r := e.request("free", "other")
			r.TTL = ttl
			_, err := e.store.Acquire(e.Context(), r)
			e.invalid(fmt.Sprint("Acquire with ttl ", ttl), err, "ttl_seconds")
			_, err = e.store.Renew(e.Context(), leasehold.RenewRequest{ID: g.ID, Resource: "held", TTL: ttl})
			e.invalid(fmt.Sprint("Renew with ttl ", ttl), err, "ttl_seconds")
		}
		if e.h.MaxResource < leasehold.MaxResource {
			_, err := e.store.Acquire(e.Context(), e.request(longText(e.h.MaxResource+1), "h"))
			e.invalid("Acquire with a resource too long for the store", err, "resource")
		}
	})
}

func invalidRenew(e *env) {
	e.untouched(func(g leasehold.Grant) {
		for _, bad := range badMatches(g) {
			_, err := e.store.Renew(e.Context(), leasehold.RenewRequest{ID: bad.id, Resource: bad.resource, Holder: bad.holder, Token: bad.token})
			e.invalid("Renew with "+bad.what, err, bad.field)
		}
		for _, ttl := range badTTLs {
			_, err := e.store.Renew(e.Context(), leasehold.RenewRequest{ID: g.ID, Resource: "held", TTL: ttl})
			e.invalid(fmt.Sprint("Renew with ttl ", ttl), err, "ttl_seconds")
		}
	})
}

func invalidRelease(e *env) {
	e.untouched(func(g leasehold.Grant) {
		for _, bad := range badMatches(g) {
			_, err := e.store.Release(e.Context(), leasehold.ReleaseRequest{ID: bad.id, Resource: bad.resource, Holder: bad.holder, Token: bad.token})
			e.invalid("Release with "+bad.what, err, bad.field)
		}
		for _, why := range []string{longText(leasehold.MaxWhy + 1), "a\nb", "\xff"} {
			_, err := e.store.Release(e.Context(), leasehold.ReleaseRequest{ID: g.ID, Resource: "held", Why: why})
			e.invalid(fmt.Sprintf("Release with the reason %.10q", why), err, "reason")
		}
	})
}

func invalidStatus(e *env) {
	e.untouched(func(leasehold.Grant) {
		for what, name := range badNames(leasehold.MaxResource) {
			_, err := e.store.Status(e.Context(), name)
			e.invalid("Status of a resource "+what, err, "resource")
		}
	})
}

func invalidBreak(e *env) {
	e.untouched(func(leasehold.Grant) {
		try := func(what, field string, r leasehold.BreakRequest) {
			e.Helper()
			_, err := power[leasehold.Breaker](e).Break(e.Context(), r)
			e.invalid("Break with "+what, err, field)
		}
		for what, name := range badNames(leasehold.MaxResource) {
			try("a resource "+what, "resource", leasehold.BreakRequest{Resource: name})
		}
		for _, p := range []time.Duration{-1, -time.Hour, leasehold.MaxBreakPeriod + 1, math.MaxInt64} {
			try(fmt.Sprint("period ", p), "break_period_seconds", leasehold.BreakRequest{Resource: "held", Period: &p})
		}
		try("a reason too long", "reason", leasehold.BreakRequest{Resource: "held", Why: longText(leasehold.MaxWhy + 1)})
	})
}

func invalidChange(e *env) {
	e.untouched(func(g leasehold.Grant) {
		for _, bad := range badMatches(g) {
			_, err := e.changeErr(leasehold.ChangeRequest{ID: bad.id, Resource: bad.resource, Holder: bad.holder, Token: bad.token, Proposed: e.id()})
			e.invalid("Change with "+bad.what, err, bad.field)
		}
		_, err := e.changeErr(leasehold.ChangeRequest{ID: g.ID, Resource: "held"})
		e.invalid("Change to no id", err, "proposed_lease_id")
	})
}

func invalidTransfer(e *env) {
	e.untouched(func(g leasehold.Grant) {
		for _, bad := range badMatches(g) {
			_, err := e.transferErr(leasehold.TransferRequest{ID: bad.id, Resource: bad.resource, Holder: bad.holder, Token: bad.token, To: "new"})
			e.invalid("Transfer with "+bad.what, err, bad.field)
		}
		for what, name := range badNames(leasehold.MaxHolder) {
			_, err := e.transferErr(leasehold.TransferRequest{ID: g.ID, Resource: "held", To: name})
			e.invalid("Transfer to a holder "+what, err, "to_holder")
		}
		for what, m := range badMetadata() {
			_, err := e.transferErr(leasehold.TransferRequest{ID: g.ID, Resource: "held", To: "new", Metadata: m})
			e.invalid("Transfer with metadata with "+what, err, "metadata")
		}
	})
}

func invalidFind(e *env) {
	_, err := power[leasehold.Finder](e).Find(e.Context(), leasehold.ID{})
	e.reason("Find of no id", err, leasehold.ReasonInvalid, leasehold.ReasonNotFound)
}

// invalidSetNames are names that only a store gives.
func invalidSetNames(e *env) {
	e.untouched(func(leasehold.Grant) {
		for _, name := range []string{leasehold.SetPrefix, leasehold.SetPrefix + "1", leasehold.SetPrefix + "x"} {
			_, err := e.store.Acquire(e.Context(), e.request(name, "other"))
			e.invalid("Acquire of "+name, err, "resource")
		}
	})
}

func invalidClaims(e *env) {
	e.untouched(func(leasehold.Grant) {
		for _, bad := range badClaims() {
			_, err := e.store.Acquire(e.Context(), e.claims("other", bad.claims...))
			e.invalid("Acquire of claims with "+bad.what, err, bad.field)
		}
		r := e.names("other", "free")
		r.Resource = "free"
		_, err := e.store.Acquire(e.Context(), r)
		e.invalid("Acquire of a resource and claims", err, "resource")
		for _, bad := range badAcquires() {
			r := e.names("other", "free")
			if bad.spoil(&r); bad.field != "resource" {
				_, err := e.store.Acquire(e.Context(), r)
				e.invalid("Acquire of a set with "+bad.what, err, bad.field)
			}
		}
	})
}

func invalidClaimsOfWait(e *env) {
	e.untouched(func(leasehold.Grant) {
		for _, bad := range badClaims() {
			r := e.claims("other", bad.claims...)
			r.Timeout = time.Second
			_, err := power[leasehold.Waiter](e).Wait(e.Context(), r)
			e.invalid("Wait for claims with "+bad.what, err, bad.field)
		}
	})
}

func invalidNotes(e *env) {
	e.untouched(func(g leasehold.Grant) {
		for what, text := range map[string]string{"too long": longText(leasehold.MaxNote + 1), "not UTF-8": "a\xff"} {
			_, err := e.store.Release(e.Context(), leasehold.ReleaseRequest{ID: g.ID, Resource: "held", Note: text})
			e.invalid("Release with a note "+what, err, "note")
			if e.h.can(Transfer) {
				_, err := e.transferErr(leasehold.TransferRequest{ID: g.ID, Resource: "held", To: "other", Note: text})
				e.invalid("Transfer with a note "+what, err, "note")
			}
		}
	})
}

func invalidListPath(e *env) {
	e.untouched(func(leasehold.Grant) {
		list := func(r leasehold.ListRequest) error {
			_, err := power[leasehold.Lister](e).List(e.Context(), r)
			return err
		}
		e.invalid("List of a path without its namespace", list(leasehold.ListRequest{Path: "a"}), "namespace")
		for what, name := range badNames(leasehold.MaxNamespace) {
			if name != "" {
				e.invalid("List of a namespace "+what, list(leasehold.ListRequest{Namespace: name}), "namespace")
			}
		}
		for _, bad := range badClaims() {
			if c := bad.claims[0]; bad.field == "paths" && len(bad.claims) == 1 && c.Pattern != "" {
				e.invalid("List by "+bad.what, list(leasehold.ListRequest{Namespace: c.Namespace, Path: c.Pattern}), "paths")
			}
		}
	})
}

type badClaim struct {
	what, field string
	claims      []leasehold.Claim
}

// badClaims have one thing wrong each. The first claim of each is on "free" or on the
// bad one itself: nothing of it may be granted.
func badClaims() []badClaim {
	free := leasehold.Claim{Pattern: "free"}
	all := []badClaim{
		{"a name of a set", "resources", leasehold.Resources("free", leasehold.SetPrefix+"1")},
		{"a name twice", "resources", leasehold.Resources("free", "free")},
		{"a name twice in two modes", "resources", []leasehold.Claim{free, {Pattern: "free", Mode: leasehold.Shared}}},
		{"a path twice", "paths", leasehold.Paths("ns", "free", "free")},
		{"an unknown mode", "mode", []leasehold.Claim{free, {Pattern: "other", Mode: leasehold.Shared + 1}}},
		{"too many segments", "paths", leasehold.Paths("ns", strings.Repeat("s/", leasehold.MaxSegments)+"s")},
	}
	for _, p := range []string{
		"**a", "a**", "a/b**", "a/**b/c", "***", "a/***", // ** inside a segment
		"/a", "a/", "a//b", "/", ".", "..", "a/./b", "../a", // what resolves to another path
		"a\\b", "\\", // other separators
	} {
		all = append(all, badClaim{fmt.Sprintf("the pattern %q", p), "paths", leasehold.Paths("ns", p)})
	}
	for _, p := range []string{"a/b", "a\\b", ":a", "a:", "a::b", "a:**b"} {
		all = append(all, badClaim{fmt.Sprintf("the pattern %q between colons", p), "paths", leasehold.Paths("ns:", p)})
	}
	for what, name := range badNames(leasehold.MaxPattern) {
		all = append(all, badClaim{"a pattern " + what, "paths", leasehold.Paths("ns", name)})
	}
	for what, name := range badNames(leasehold.MaxResource) {
		all = append(all, badClaim{"a name " + what, "resources", leasehold.Resources("free", name)})
	}
	for what, name := range badNames(leasehold.MaxNamespace) {
		if name != "" {
			all = append(all, badClaim{"a namespace " + what, "namespace", append([]leasehold.Claim{free}, leasehold.Paths(name, "a")...)})
		}
	}
	var many, big []string
	for i := range leasehold.MaxClaims + 1 {
		many = append(many, fmt.Sprint("many", i))
		big = append(big, fmt.Sprint(i, "x", longText(100)))
	}
	return append(all, badClaim{"too many claims", "claims", leasehold.Resources(many...)},
		badClaim{"too many bytes", "claims", leasehold.Resources(big[1:]...)})
}

// badNames are names outside of the rules, by what is wrong with them.
func badNames(most int) map[string]string {
	return map[string]string{
		"empty":             "",
		"too long":          longText(most + 1),
		"much too long":     longText(1 << 20),
		"with NUL":          "a\x00b",
		"with a newline":    "a\nb",
		"with a tab":        "\t",
		"with DEL":          "a\x7f",
		"with a C1 control": "a\u0085b",
		"not UTF-8":         "a\xffb",
		"cut in a rune":     "日本語"[:4],
		"with a surrogate":  "a\xed\xa0\x80b",
	}
}

type badAcquire struct {
	what  string
	field string
	spoil func(*leasehold.AcquireRequest)
}

// badAcquires spoil one field each.
func badAcquires() []badAcquire {
	var all []badAcquire
	add := func(what, field string, spoil func(*leasehold.AcquireRequest)) {
		all = append(all, badAcquire{what, field, spoil})
	}
	for what, name := range badNames(leasehold.MaxResource) {
		add("a resource "+what, "resource", func(r *leasehold.AcquireRequest) { r.Resource = name })
	}
	for what, name := range badNames(leasehold.MaxHolder) {
		add("a holder "+what, "holder", func(r *leasehold.AcquireRequest) { r.Holder = name })
	}
	for _, ttl := range badTTLs {
		add(fmt.Sprint("ttl ", ttl), "ttl_seconds", func(r *leasehold.AcquireRequest) { r.TTL = ttl })
	}
	for what, m := range badMetadata() {
		add("metadata with "+what, "metadata", func(r *leasehold.AcquireRequest) { r.Metadata = m })
	}
	for _, n := range []int{-2, leasehold.MaxMaxRenewals + 1, math.MinInt32, math.MaxInt} {
		add(fmt.Sprint("max_renewals ", n), "max_renewals", func(r *leasehold.AcquireRequest) { r.MaxRenewals = &n })
	}
	for _, p := range []int{-101, 101, math.MinInt, math.MaxInt} {
		add(fmt.Sprint("priority ", p), "priority", func(r *leasehold.AcquireRequest) { r.Priority = p })
	}
	for _, d := range []time.Duration{-2, -time.Hour, leasehold.MaxTimeout + 1, math.MinInt64, math.MaxInt64} {
		add(fmt.Sprint("timeout ", d), "timeout_ms", func(r *leasehold.AcquireRequest) { r.Timeout = d })
	}
	return all
}

var badTTLs = []time.Duration{-2, -time.Second, 1, time.Second - 1, leasehold.MaxTTL + 1, math.MinInt64, math.MaxInt64}

func badMetadata() map[string]map[string]string {
	many, big := map[string]string{}, map[string]string{}
	for i := range leasehold.MaxMetadataPairs + 1 {
		many[fmt.Sprint("k", i)] = ""
	}
	for i := range 8 {
		big[fmt.Sprint("k", i)] = longText(leasehold.MaxMetadataValue)
	}
	return map[string]map[string]string{
		"too many pairs":    many,
		"too many bytes":    big,
		"an empty key":      {"": "v"},
		"a key too long":    {longText(leasehold.MaxMetadataKey + 1): "v"},
		"a space in a key":  {"a b": "v"},
		"an accent in key":  {"é": "v"},
		"a value too long":  {"k": longText(leasehold.MaxMetadataValue + 1)},
		"a value not UTF-8": {"k": "\xff"},
	}
}

// badMatch spoils what renew, release, change and transfer have in common.
type badMatch struct {
	what, field string
	id          leasehold.ID
	resource    string
	holder      string
	token       uint64
}

func badMatches(g leasehold.Grant) []badMatch {
	all := []badMatch{
		{"no id", "lease_id", leasehold.ID{}, "held", "", 0},
		{"a huge token", "token", g.ID, "held", "", leasehold.MaxToken + 1},
	}
	for what, name := range badNames(leasehold.MaxResource) {
		if name != "" {
			all = append(all, badMatch{"a resource " + what, "resource", g.ID, name, "", 0})
		}
	}
	for what, name := range badNames(leasehold.MaxHolder) {
		if name != "" {
			all = append(all, badMatch{"a holder " + what, "holder", g.ID, "held", name, 0})
		}
	}
	return all
}
