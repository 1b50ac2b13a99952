package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/leasehold/leasehold"
)

var historyChecks = []check{
	{name: "EveryStepOfALease", run: historyOfALease, needs: []Capability{History}},
	{name: "AllKinds", run: historyOfAllKinds, needs: []Capability{ExpiryRecords, Breaking, Changing, Transfer, ForceRelease, Waiting}},
	{name: "CommitOrderWithoutGaps", run: historyOrder, needs: []Capability{History}},
	{name: "RefusalsLeaveNone", run: refusalsLeaveNone, needs: []Capability{History}},
	{name: "HealthChecksLeaveNone", run: healthLeavesNone, needs: []Capability{History, HealthNames}},
	{name: "ExpiryIsWrittenWhenDue", run: expiryWhenDue, needs: []Capability{ExpiryRecords, Settings}},
	{name: "TimesAreTheWallClock", run: historyTimes, needs: []Capability{History}},
}

// kinds expects the records of a resource, oldest first, to be of these kinds.
func (e *env) kinds(resource string, want ...leasehold.Kind) []leasehold.Record {
	e.Helper()
	records := readHistory(e.TB, e.store, leasehold.HistoryRequest{Resource: resource})
	var got []leasehold.Kind
	for _, r := range records {
		got = append(got, r.Kind)
		if r.Resource != resource {
			e.Errorf("History of %q has a record of %q", resource, r.Resource)
		}
	}
	if len(got) != len(want) {
		e.Fatalf("History of %q = %v, want %v", resource, got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			e.Fatalf("History of %q = %v, want %v", resource, got, want)
		}
	}
	return records
}

func historyOfALease(e *env) {
	g := e.acquire("r", "h")
	e.renew(g.Lease)
	e.renew(g.Lease)
	e.release(g.Lease)
	next := e.acquire("r", "i")
	records := e.kinds("r", leasehold.KindAcquired, leasehold.KindRenewed, leasehold.KindRenewed, leasehold.KindReleased, leasehold.KindAcquired)
	active := leasehold.StateActive
	for i, want := range []leasehold.Record{
		{Holder: "h", Token: g.Token, Before: leasehold.StateAvailable, After: active},
		{Holder: "h", Token: g.Token, Before: active, After: active, Renewals: 1},
		{Holder: "h", Token: g.Token, Before: active, After: active, Renewals: 2},
		{Holder: "h", Token: g.Token, Before: active, After: leasehold.StateReleased, Renewals: 2},
		{Holder: "i", Token: next.Token, Before: leasehold.StateReleased, After: active},
	} {
		r := records[i]
		if !e.h.can(Memory) && r.Before == leasehold.StateAvailable {
			want.Before = r.Before
		}
		if r.Holder != want.Holder || r.Token != want.Token || r.Before != want.Before || r.After != want.After || r.Renewals != want.Renewals {
			e.Errorf("record %d = %+v, want %+v", i, r, want)
		}
	}
}

// historyOfAllKinds leaves the chain of states to the audit.
func historyOfAllKinds(e *env) {
	period := e.breakPeriod()
	g := e.grant(e.brief("r", "a"))
	e.renewFor(g.Lease, e.long)
	changed := e.change(g.Lease, e.id())
	next := e.transfer(changed, "b", e.id())
	late := e.request("r", "late")
	late.Timeout = time.Second
	e.wait(late).failed()
	e.pass(decided)
	e.breakIn("r", period)
	e.outlive(period)
	e.grant(e.brief("r", "c"))
	e.outlive(e.short)
	e.acquire("r", "d")
	e.force("d", "", 1)
	e.release(e.acquire("r", "e").Lease)
	e.kinds("r", leasehold.KindAcquired, leasehold.KindRenewed, leasehold.KindChanged, leasehold.KindTransferred,
		leasehold.KindFailed, leasehold.KindBreaking, leasehold.KindBroken, leasehold.KindAcquired, leasehold.KindExpired,
		leasehold.KindAcquired, leasehold.KindForceReleased, leasehold.KindAcquired, leasehold.KindReleased)
	e.reason("Renew", e.renewErr(next), leasehold.ReasonNotFound)
}

func historyOrder(e *env) {
	for _, n := range []string{"a", "b", "c"} {
		e.release(e.acquire(n, "h").Lease)
	}
	records := ReadHistory(e.TB, e.store)
	if len(records) != 6 {
		e.Fatalf("History has %d records, want 6", len(records))
	}
	checkNumbers(e.TB, records)
	for i, want := range []string{"a", "a", "b", "b", "c", "c"} {
		if records[i].Resource != want {
			e.Errorf("record %d is of %q, want %q", records[i].Seq, records[i].Resource, want)
		}
	}
	page, err := power[leasehold.Historian](e).History(e.Context(), leasehold.HistoryRequest{Limit: 1})
	if err != nil || len(page.Records) != 1 || page.Records[0].Seq != records[5].Seq {
		e.Errorf("History of 1 = %+v, %v; want the newest", page.Records, err)
	}
}

func refusalsLeaveNone(e *env) {
	g := e.acquire("r", "h")
	e.refused(e.request("r", "other"), leasehold.ReasonHeld)
	_, _ = e.store.Renew(e.Context(), leasehold.RenewRequest{ID: e.id(), Resource: "r"})
	_, _ = e.store.Release(e.Context(), leasehold.ReleaseRequest{ID: e.id(), Resource: "r"})
	e.status("r")
	e.kinds("r", leasehold.KindAcquired)
	e.release(g.Lease)
	_ = e.releaseErr(g.Lease)
	_ = e.renewErr(g.Lease)
	e.kinds("r", leasehold.KindAcquired, leasehold.KindReleased)
}

func healthLeavesNone(e *env) {
	e.acquire("before", "h")
	const name = "__healthcheck__node-1"
	g := e.acquire(name, "checker")
	e.held(g.Lease)
	e.refused(e.request(name, "other"), leasehold.ReasonHeld)
	e.renew(g.Lease)
	e.release(g.Lease)
	again := e.acquire(name, "checker")
	if again.Token <= g.Token {
		e.Errorf("token %d of a health check after %d", again.Token, g.Token)
	}
	if e.h.can(Breaking) {
		e.breakIn(name, 0)
	}
	e.grant(e.brief(name, "checker"))
	e.outlive(e.short)
	e.free(name)
	e.acquire("after", "h")
	e.kinds(name)
	if records := ReadHistory(e.TB, e.store); len(records) != 2 {
		e.Errorf("History = %+v, want only the two leases that are no health checks", records)
	}
	e.acquire("x__healthcheck__", "h")
	e.kinds("x__healthcheck__", leasehold.KindAcquired)
}

func expiryWhenDue(e *env) {
	g := e.grant(e.brief("r", "h"))
	e.outlive(e.short)
	e.pass(e.moments())
	e.eventually("the expiry is recorded", func() bool { return len(ReadHistory(e.TB, e.store)) >= 2 })
	records := e.kinds("r", leasehold.KindAcquired, leasehold.KindExpired)
	if d := records[1].At.Sub(records[0].At) - e.short; d < -time.Millisecond || d > e.atMost(e.moments()) {
		e.Errorf("the expiry of a lease of %v is dated %v after the grant", e.short, records[1].At.Sub(records[0].At))
	}
	e.ended(g.Lease, leasehold.StateExpired)
}

func historyTimes(e *env) {
	before := time.Now()
	e.release(e.acquire("r", "h").Lease)
	for _, r := range ReadHistory(e.TB, e.store) {
		if r.At.Before(before.Add(-time.Minute)) || r.At.After(time.Now().Add(time.Minute)) {
			e.Errorf("record %d is dated %v, now is %v", r.Seq, r.At, time.Now())
		}
	}
}

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

// historyByTime: since is included, until is not.
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
	for _, cursor := range badCursors {
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
