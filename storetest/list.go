package storetest

import (
	"maps"
	"slices"
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

// listsByPrefix is full of the wild cards of other languages, which mean
// nothing here.
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
