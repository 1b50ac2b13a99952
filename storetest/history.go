package storetest

import (
	"time"

	"github.com/leasehold/leasehold"
)

var historyChecks = []check{
	{name: "EveryStepOfALife", run: historyOfALife, needs: []Capability{History}},
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

func historyOfALife(e *env) {
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
	records := e.kinds("r", leasehold.KindAcquired, leasehold.KindExpired)
	if d := records[1].At.Sub(records[0].At) - e.short; d < -time.Millisecond || d > e.moments() {
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
