package storetest

import (
	"fmt"
	"strings"

	"github.com/leasehold/leasehold"
)

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

// garbage is what nobody got from the page before.
var garbage = []string{"x", "not a cursor", "!!!!", "\x00", "\xff\xfe", "e30=", "AAAA", "'; DROP TABLE leases; --", strings.Repeat("A", 10_000)}

func listGarbageCursor(e *env) {
	e.acquire("r", "h")
	for _, cursor := range garbage {
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
