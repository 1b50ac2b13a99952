package storetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
)

var listChecks = []check{
	{name: "AllLiveLeases", run: listsLive, needs: []Capability{Listing}},
	{name: "Empty", run: listsNothing, needs: []Capability{Listing}},
	{name: "WholeLeaseWithoutID", run: listsWhole, needs: []Capability{Listing}},
	{name: "ByteOrder", run: listsInByteOrder, needs: []Capability{Listing}},
	{name: "ByResource", run: listsByResource, needs: []Capability{Listing}},
	{name: "ByPrefix", run: listsByPrefix, needs: []Capability{Listing}},
	{name: "ByHolder", run: listsByHolder, needs: []Capability{Listing}},
	{name: "ByState", run: listsByState, needs: []Capability{Listing, Memory, Breaking}},
	{name: "ByMetadata", run: listsByMetadata, needs: []Capability{MetadataFilter}},
	{name: "ByEverythingAtOnce", run: listsByEverything, needs: []Capability{MetadataFilter}},
	{name: "FollowsChanges", run: listsFollow, needs: []Capability{Listing, Transfer}},
}

// list reads all pages.
func (e *env) list(r leasehold.ListRequest) []leasehold.Lease {
	e.Helper()
	var all []leasehold.Lease
	for {
		page, err := power[leasehold.Lister](e).List(e.Context(), r)
		if err != nil {
			e.Fatalf("List(%+v) = %v, want a page", r, err)
		}
		most := r.Limit
		if most == 0 {
			most = leasehold.DefaultPage
		}
		if len(page.Leases) > most || len(page.Leases) == 0 && page.Cursor != "" {
			e.Fatalf("List(%+v) = %d leases and a cursor %v, want at most %d", r, len(page.Leases), page.Cursor != "", most)
		}
		for _, l := range page.Leases {
			e.sane("List", l)
			if !l.ID.IsZero() {
				e.Errorf("List carries the id of the lease on %q", l.Resource)
			}
		}
		e.secret("a list's cursor", page.Cursor)
		all = append(all, page.Leases...)
		if page.Cursor == "" {
			return all
		}
		r.Cursor = page.Cursor
	}
}

func resources(leases []leasehold.Lease) []string {
	names := []string{}
	for _, l := range leases {
		names = append(names, l.Resource)
	}
	return names
}

// lists expects just these resources in this order.
func (e *env) lists(r leasehold.ListRequest, want ...string) []leasehold.Lease {
	e.Helper()
	leases := e.list(r)
	if got := resources(leases); !slices.Equal(got, want) {
		e.Fatalf("List(%+v) = %q, want %q", r, got, want)
	}
	return leases
}

func listsLive(e *env) {
	e.acquire("b", "h")
	e.acquire("a", "h")
	e.release(e.acquire("released", "h").Lease)
	e.grant(e.brief("expired", "h"))
	e.outlive(e.short)
	e.acquire("c", "h")
	want := []string{"a", "b", "c"}
	if e.h.can(Breaking) {
		e.acquire("breaking", "h")
		e.breakIn("breaking", 30*time.Second)
		e.acquire("broken", "h")
		e.breakIn("broken", 0)
		want = []string{"a", "b", "breaking", "c"}
	}
	e.lists(leasehold.ListRequest{}, want...)
}

func listsNothing(e *env) {
	e.lists(leasehold.ListRequest{})
	e.lists(leasehold.ListRequest{Prefix: "x", Holder: "y"})
}

func listsWhole(e *env) {
	r := e.request("r", "h")
	r.Metadata = map[string]string{"k": "v"}
	g := e.grant(r)
	e.renew(g.Lease)
	l := e.lists(leasehold.ListRequest{}, "r")[0]
	if l.Holder != "h" || l.Token != g.Token || l.State != leasehold.StateActive || l.TTL != e.long ||
		!e.about(l.Remaining, e.long) || l.Renewals != 1 || !maps.Equal(l.Metadata, r.Metadata) {
		e.Errorf("List = %+v, want all of the lease", l)
	}
}

func listsInByteOrder(e *env) {
	names := []string{"a", "B", "b", "A", "é", "z", "ß", "e\u0301", "_", " ", "a/b", "a-b", "a b", "10", "9", "Z", "😀", "\uffee"}
	for _, n := range names {
		e.acquire(n, "h")
	}
	slices.Sort(names)
	e.lists(leasehold.ListRequest{}, names...)
	e.lists(leasehold.ListRequest{Limit: 5}, names...)
}

func listsByResource(e *env) {
	for _, n := range []string{"a", "ab", "A", "a%"} {
		e.acquire(n, "h")
	}
	e.lists(leasehold.ListRequest{Resource: "a"}, "a")
	e.lists(leasehold.ListRequest{Resource: "a%"}, "a%")
	e.lists(leasehold.ListRequest{Resource: "none"})
	e.lists(leasehold.ListRequest{Resource: "ab", Prefix: "a"}, "ab")
	e.lists(leasehold.ListRequest{Resource: "ab", Prefix: "b"})
}

// listsByPrefix uses wild cards of other languages, which mean nothing here.
func listsByPrefix(e *env) {
	for _, n := range []string{"db/a", "db/b", "db", "dB/c", "d%/x", "d_/y", "d*/z", "é/1", "e/1", "[d]b", "\U0010ffff\U0010ffffx"} {
		e.acquire(n, "h")
	}
	e.lists(leasehold.ListRequest{Prefix: "db/"}, "db/a", "db/b")
	e.lists(leasehold.ListRequest{Prefix: "db"}, "db", "db/a", "db/b")
	e.lists(leasehold.ListRequest{Prefix: "d%"}, "d%/x")
	e.lists(leasehold.ListRequest{Prefix: "d_"}, "d_/y")
	e.lists(leasehold.ListRequest{Prefix: "d*"}, "d*/z")
	e.lists(leasehold.ListRequest{Prefix: "[d]"}, "[d]b")
	e.lists(leasehold.ListRequest{Prefix: "é"}, "é/1")
	e.lists(leasehold.ListRequest{Prefix: "\U0010ffff"}, "\U0010ffff\U0010ffffx")
	e.lists(leasehold.ListRequest{Prefix: "nothing"})
}

func listsByHolder(e *env) {
	e.acquire("a", "x")
	e.acquire("b", "y")
	e.acquire("c", "x")
	e.acquire("d", "X")
	e.lists(leasehold.ListRequest{Holder: "x"}, "a", "c")
	e.lists(leasehold.ListRequest{Holder: "X"}, "d")
	e.lists(leasehold.ListRequest{Holder: "%"})
}

func listsByState(e *env) {
	e.grant(e.brief("expired", "h"))
	e.outlive(e.short)
	e.acquire("active", "h")
	e.release(e.acquire("released", "h").Lease)
	e.acquire("broken", "h")
	e.breakIn("broken", 0)
	e.acquire("breaking", "h")
	e.breakIn("breaking", 30*time.Second)
	for _, state := range []leasehold.State{leasehold.StateActive, leasehold.StateBreaking, leasehold.StateReleased, leasehold.StateExpired, leasehold.StateBroken} {
		l := e.lists(leasehold.ListRequest{States: []leasehold.State{state}}, state.String())
		if len(l) == 1 && l[0].State != state {
			e.Errorf("List of %v = a lease that is %v", state, l[0].State)
		}
	}
	e.lists(leasehold.ListRequest{States: []leasehold.State{leasehold.StateReleased, leasehold.StateActive}}, "active", "released")
	e.lists(leasehold.ListRequest{States: []leasehold.State{leasehold.StateAvailable}})
}

func listsByMetadata(e *env) {
	grant := func(resource string, pairs ...string) {
		r := e.request(resource, "h")
		r.Metadata = map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			r.Metadata[pairs[i]] = pairs[i+1]
		}
		e.grant(r)
	}
	grant("a", "env", "prod", "host", "1")
	grant("b", "env", "prod", "host", "2")
	grant("c", "env", "test", "host", "1")
	grant("d", "env", "")
	grant("e", "ENV", "prod", "a.b-c_d", "x'y\"z\\")
	by := func(m map[string]string, want ...string) {
		e.Helper()
		e.lists(leasehold.ListRequest{Metadata: m}, want...)
	}
	by(map[string]string{"env": "prod"}, "a", "b")
	by(map[string]string{"env": "prod", "host": "1"}, "a")
	by(map[string]string{"host": "1"}, "a", "c")
	by(map[string]string{"env": ""}, "d")
	by(map[string]string{"ENV": "prod"}, "e")
	by(map[string]string{"a.b-c_d": "x'y\"z\\"}, "e")
	by(map[string]string{"env": "prod", "host": "3"})
	by(map[string]string{"env": "pro%"})
	by(map[string]string{}, "a", "b", "c", "d", "e")
}

func listsByEverything(e *env) {
	r := e.request("p/a", "h")
	r.Metadata = map[string]string{"k": "v"}
	e.grant(r)
	for _, other := range []func(*leasehold.AcquireRequest){
		func(r *leasehold.AcquireRequest) { r.Resource = "q/a" },
		func(r *leasehold.AcquireRequest) { r.Resource, r.Holder = "p/b", "g" },
		func(r *leasehold.AcquireRequest) { r.Resource, r.Metadata = "p/c", map[string]string{"k": "w"} },
	} {
		o := r
		other(&o)
		e.grant(o)
	}
	filter := leasehold.ListRequest{Prefix: "p/", Holder: "h", Metadata: map[string]string{"k": "v"}, States: []leasehold.State{leasehold.StateActive}, Limit: 1}
	e.lists(filter, "p/a")
}

func listsFollow(e *env) {
	g := e.acquire("r", "old")
	next := e.transfer(g.Lease, "new", leasehold.ID{})
	e.lists(leasehold.ListRequest{Holder: "old"})
	e.lists(leasehold.ListRequest{Holder: "new"}, "r")
	e.release(next)
	e.lists(leasehold.ListRequest{Holder: "new"})
	e.acquire("r", "third")
	e.lists(leasehold.ListRequest{Holder: "new"})
	e.lists(leasehold.ListRequest{Holder: "third"}, "r")
}

var listCursorChecks = []check{
	{name: "EveryPageSize", run: everyPageSize, needs: []Capability{Listing}},
	{name: "WithFilters", run: cursorWithFilters, needs: []Capability{Listing}},
	{name: "DefaultAndLargestPage", run: defaultPage, needs: []Capability{Listing}},
	{name: "StaysRightUnderChanges", run: cursorUnderChanges, needs: []Capability{Listing}},
	{name: "GarbageIsRefused", run: listGarbageCursor, needs: []Capability{Listing}},
	{name: "BadRequestsAreRefused", run: listInvalid, needs: []Capability{Listing}},
}

func everyPageSize(e *env) {
	var want []string
	for i := range 13 {
		name := fmt.Sprintf("r%02d", i)
		e.acquire(name, "h")
		want = append(want, name)
	}
	for size := 1; size <= len(want)+1; size++ {
		e.lists(leasehold.ListRequest{Limit: size}, want...)
	}
}

// cursorWithFilters has pages on which nearly everything is filtered out.
func cursorWithFilters(e *env) {
	var even []string
	for i := range 20 {
		name := fmt.Sprintf("p/%02d", i)
		holder := "odd"
		if i%2 == 0 {
			holder = "even"
			even = append(even, name)
		}
		e.acquire(name, holder)
		e.acquire(fmt.Sprintf("q/%02d", i), holder)
	}
	for size := 1; size <= 11; size++ {
		e.lists(leasehold.ListRequest{Prefix: "p/", Holder: "even", Limit: size}, even...)
	}
}

func defaultPage(e *env) {
	const n = leasehold.DefaultPage + 5
	for i := range n {
		e.acquire(fmt.Sprintf("r%03d", i), "h")
	}
	page, err := power[leasehold.Lister](e).List(e.Context(), leasehold.ListRequest{})
	if err != nil || len(page.Leases) != leasehold.DefaultPage || page.Cursor == "" {
		e.Errorf("List = %d leases, cursor %v, %v; want %d and more to come", len(page.Leases), page.Cursor != "", err, leasehold.DefaultPage)
	}
	page, err = power[leasehold.Lister](e).List(e.Context(), leasehold.ListRequest{Limit: leasehold.MaxPage})
	if err != nil || len(page.Leases) != n || page.Cursor != "" {
		e.Errorf("List of %d = %d leases, cursor %v, %v; want all %d", leasehold.MaxPage, len(page.Leases), page.Cursor != "", err, n)
	}
	if got := len(e.list(leasehold.ListRequest{})); got != n {
		e.Errorf("all pages have %d leases, want %d", got, n)
	}
}

// cursorUnderChanges ends the lease at the cursor and starts new ones on both
// sides of it: those that were there throughout still show exactly once.
func cursorUnderChanges(e *env) {
	grants := map[string]leasehold.Grant{}
	for _, n := range []string{"b", "d", "f", "h", "j"} {
		grants[n] = e.acquire(n, "x")
	}
	page, err := power[leasehold.Lister](e).List(e.Context(), leasehold.ListRequest{Limit: 2})
	if err != nil || len(page.Leases) != 2 {
		e.Fatalf("List of 2 = %d, %v", len(page.Leases), err)
	}
	e.release(grants["d"].Lease)
	e.acquire("a", "x")
	e.acquire("c", "x")
	e.release(grants["b"].Lease)
	seen := map[string]int{"b": 1, "d": 1}
	for _, l := range e.list(leasehold.ListRequest{Limit: 2, Cursor: page.Cursor}) {
		seen[l.Resource]++
	}
	for _, n := range []string{"b", "d", "f", "h", "j"} {
		if seen[n] != 1 {
			e.Errorf("%q was listed %d times", n, seen[n])
		}
	}
}

// badCursors come from no page.
var badCursors = []string{"x", "not a cursor", "!!!!", "\x00", "\xff\xfe", "e30=", "AAAA", "'; DROP TABLE leases; --", strings.Repeat("A", 10_000)}

func listGarbageCursor(e *env) {
	e.acquire("r", "h")
	for _, cursor := range badCursors {
		_, err := power[leasehold.Lister](e).List(e.Context(), leasehold.ListRequest{Cursor: cursor})
		e.invalid(fmt.Sprintf("List with the cursor %.20q", cursor), err, "cursor")
	}
	e.lists(leasehold.ListRequest{}, "r")
}

func listInvalid(e *env) {
	for what, bad := range map[string]struct {
		request leasehold.ListRequest
		field   string
	}{
		"negative limit":    {leasehold.ListRequest{Limit: -1}, "limit"},
		"limit too large":   {leasehold.ListRequest{Limit: leasehold.MaxPage + 1}, "limit"},
		"unknown state":     {leasehold.ListRequest{States: []leasehold.State{99}}, "status"},
		"prefix too long":   {leasehold.ListRequest{Prefix: longText(leasehold.MaxResource + 1)}, "prefix"},
		"prefix not UTF-8":  {leasehold.ListRequest{Prefix: "\xff"}, "prefix"},
		"holder too long":   {leasehold.ListRequest{Holder: longText(leasehold.MaxHolder + 1)}, "holder"},
		"resource too long": {leasehold.ListRequest{Resource: longText(leasehold.MaxResource + 1)}, "resource"},
		"bad metadata key":  {leasehold.ListRequest{Metadata: map[string]string{"a b": ""}}, "metadata"},
	} {
		_, err := power[leasehold.Lister](e).List(e.Context(), bad.request)
		e.invalid("List with "+what, err, bad.field)
	}
}
