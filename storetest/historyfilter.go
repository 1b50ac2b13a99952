package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/leasehold/leasehold"
)

var historyFilterChecks = []check{
	{name: "ByResourceAndPrefix", run: historyByName, needs: []Capability{History}},
	{name: "ByHolder", run: historyByHolder, needs: []Capability{History}},
	{name: "ByKind", run: historyByKind, needs: []Capability{History}},
	{name: "ByTime", run: historyByTime, needs: []Capability{History}},
	{name: "EveryPageSize", run: historyPages, needs: []Capability{History}},
	{name: "CursorWithFilters", run: historyPagesFiltered, needs: []Capability{History}},
	{name: "CursorStaysRightUnderWrites", run: historyCursorUnderWrites, needs: []Capability{History}},
	{name: "GarbageIsRefused", run: historyGarbage, needs: []Capability{History}},
	{name: "BadRequestsAreRefused", run: historyInvalid, needs: []Capability{History}},
}

// seqs reads the numbers of all records that match, oldest first.
func (e *env) seqs(r leasehold.HistoryRequest) []uint64 {
	e.Helper()
	var got []uint64
	for _, record := range readHistory(e.TB, e.store, r) {
		got = append(got, record.Seq)
	}
	return got
}

// same compares a filtered history with the whole one.
func (e *env) same(r leasehold.HistoryRequest, want func(leasehold.Record) bool) {
	e.Helper()
	var expected []uint64
	for _, record := range ReadHistory(e.TB, e.store) {
		if want(record) {
			expected = append(expected, record.Seq)
		}
	}
	if got := e.seqs(r); !slices.Equal(got, expected) {
		e.Errorf("History(%+v) = records %v, want %v", r, got, expected)
	}
}

// someHistory makes a history with something for every filter.
func (e *env) someHistory() {
	e.Helper()
	for _, n := range []string{"db/a", "db/b", "d_/c", "d%/e", "db", "Db/a"} {
		g := e.acquire(n, "h-"+n)
		e.renew(g.Lease)
		e.pass(10 * time.Millisecond) // so that records differ in time
		e.release(g.Lease)
		e.acquire(n, "second")
	}
}

func historyByName(e *env) {
	e.someHistory()
	for _, n := range []string{"db/a", "db", "d_/c", "d%/e", "none"} {
		e.same(leasehold.HistoryRequest{Resource: n}, func(r leasehold.Record) bool { return r.Resource == n })
	}
	for prefix, names := range map[string][]string{
		"db/": {"db/a", "db/b"}, "db": {"db/a", "db/b", "db"}, "d_": {"d_/c"}, "d%": {"d%/e"}, "D": {"Db/a"}, "x": nil,
	} {
		e.same(leasehold.HistoryRequest{Prefix: prefix}, func(r leasehold.Record) bool { return slices.Contains(names, r.Resource) })
	}
}

func historyByHolder(e *env) {
	e.someHistory()
	for _, h := range []string{"second", "h-db/a", "nobody"} {
		e.same(leasehold.HistoryRequest{Holder: h}, func(r leasehold.Record) bool { return r.Holder == h })
	}
}

func historyByKind(e *env) {
	e.someHistory()
	for _, k := range []leasehold.Kind{leasehold.KindAcquired, leasehold.KindRenewed, leasehold.KindReleased, leasehold.KindBroken} {
		e.same(leasehold.HistoryRequest{Kind: k}, func(r leasehold.Record) bool { return r.Kind == k })
		e.same(leasehold.HistoryRequest{Kind: k, Prefix: "db/", Holder: "second"}, func(r leasehold.Record) bool {
			return r.Kind == k && r.Holder == "second" && len(r.Resource) > 3 && r.Resource[:3] == "db/"
		})
	}
}

// historyByTime counts since in and until out.
func historyByTime(e *env) {
	e.someHistory()
	all := ReadHistory(e.TB, e.store)
	if len(all) < 6 {
		e.Fatalf("%d records, want more to choose from", len(all))
	}
	from, to := all[len(all)/3].At, all[2*len(all)/3].At
	if !from.Before(to) {
		e.Fatalf("records %d and %d have the same time", all[len(all)/3].Seq, all[2*len(all)/3].Seq)
	}
	e.same(leasehold.HistoryRequest{Since: from}, func(r leasehold.Record) bool { return !r.At.Before(from) })
	e.same(leasehold.HistoryRequest{Until: to}, func(r leasehold.Record) bool { return r.At.Before(to) })
	e.same(leasehold.HistoryRequest{Since: from, Until: to, Limit: 2}, func(r leasehold.Record) bool {
		return !r.At.Before(from) && r.At.Before(to)
	})
	e.same(leasehold.HistoryRequest{Since: to, Until: from}, func(leasehold.Record) bool { return false })
	first := time.Time{}.Add(time.Nanosecond) // the year 1 is a bound, too
	e.same(leasehold.HistoryRequest{Since: first}, func(leasehold.Record) bool { return true })
	e.same(leasehold.HistoryRequest{Until: first}, func(leasehold.Record) bool { return false })
	e.same(leasehold.HistoryRequest{Since: time.Now().Add(24 * time.Hour)}, func(leasehold.Record) bool { return false })
}

func historyPages(e *env) {
	for i := range 6 {
		e.release(e.acquire(fmt.Sprint("r", i), "h").Lease)
	}
	for size := 1; size <= 13; size++ {
		e.same(leasehold.HistoryRequest{Limit: size}, func(leasehold.Record) bool { return true })
	}
}

func historyPagesFiltered(e *env) {
	e.someHistory()
	for size := 1; size <= 7; size++ {
		e.same(leasehold.HistoryRequest{Limit: size, Prefix: "db", Kind: leasehold.KindAcquired}, func(r leasehold.Record) bool {
			return r.Kind == leasehold.KindAcquired && len(r.Resource) >= 2 && r.Resource[:2] == "db"
		})
	}
}

// historyCursorUnderWrites reads backwards while new records are written.
func historyCursorUnderWrites(e *env) {
	for i := range 4 {
		e.release(e.acquire(fmt.Sprint("r", i), "h").Lease)
	}
	all := e.seqs(leasehold.HistoryRequest{})
	var got []uint64
	r := leasehold.HistoryRequest{Limit: 3}
	for {
		page, err := power[leasehold.Historian](e).History(e.Context(), r)
		if err != nil {
			e.Fatalf("History = %v, want a page", err)
		}
		for _, record := range page.Records {
			got = append(got, record.Seq)
		}
		e.secret("a history's cursor", page.Cursor)
		if r.Cursor = page.Cursor; r.Cursor == "" {
			break
		}
		e.acquire(fmt.Sprint("new", len(got)), "h")
	}
	slices.Reverse(got)
	if !slices.Equal(got, all) {
		e.Errorf("pages read while others write = records %v, want %v", got, all)
	}
}

func historyGarbage(e *env) {
	e.acquire("r", "h")
	for _, cursor := range garbage {
		_, err := power[leasehold.Historian](e).History(e.Context(), leasehold.HistoryRequest{Cursor: cursor})
		e.invalid(fmt.Sprintf("History with the cursor %.20q", cursor), err, "cursor")
	}
}

func historyInvalid(e *env) {
	for what, bad := range map[string]struct {
		request leasehold.HistoryRequest
		field   string
	}{
		"negative limit":    {leasehold.HistoryRequest{Limit: -1}, "limit"},
		"limit too large":   {leasehold.HistoryRequest{Limit: leasehold.MaxPage + 1}, "limit"},
		"unknown kind":      {leasehold.HistoryRequest{Kind: "exploded"}, "event"},
		"prefix too long":   {leasehold.HistoryRequest{Prefix: longText(leasehold.MaxResource + 1)}, "prefix"},
		"holder too long":   {leasehold.HistoryRequest{Holder: longText(leasehold.MaxHolder + 1)}, "holder"},
		"resource not text": {leasehold.HistoryRequest{Resource: "\xff"}, "resource"},
	} {
		_, err := power[leasehold.Historian](e).History(e.Context(), bad.request)
		e.invalid("History with "+what, err, bad.field)
	}
}
