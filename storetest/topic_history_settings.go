package storetest

import (
	"strconv"
	"time"

	"github.com/leasehold/leasehold"
)

var historySettingChecks = []check{
	{name: leasehold.SettingKeepHistory, run: settingKeepHistory, needs: []Capability{Settings, History}, gaps: true},
	{name: leasehold.SettingHistoryRenewals, run: settingHistoryRenewals, needs: []Capability{Settings, History}, gaps: true},
	{name: leasehold.SettingHistoryMaxRows, run: settingMaxRows, needs: []Capability{Settings, History, Cleanup}, gaps: true},
	{name: leasehold.SettingHistoryRetention, run: settingRetention, needs: []Capability{Settings, History, Cleanup}, simulated: true, gaps: true},
	{name: leasehold.SettingAutoExpire, run: settingAutoExpire, needs: []Capability{Settings, ExpiryRecords, Cleanup}},
	{name: "AutoExpireOffChangesNoLease", run: autoExpireOff, needs: []Capability{Settings}},
	{name: leasehold.SettingCleanupInterval, run: settingInterval, needs: []Capability{Settings, History}, simulated: true, gaps: true},
}

func settingKeepHistory(e *env) {
	e.acquire("before", "h")
	e.set(leasehold.SettingKeepHistory, false)
	g := e.acquire("during", "h")
	e.renew(g.Lease)
	e.release(g.Lease)
	e.kinds("during")
	e.set(leasehold.SettingKeepHistory, true)
	e.acquire("after", "h")
	records := ReadHistory(e.TB, e.store)
	var kinds []leasehold.Kind
	for _, r := range records {
		kinds = append(kinds, r.Kind)
	}
	if len(records) != 4 || kinds[1] != leasehold.KindConfigured || kinds[2] != leasehold.KindConfigured {
		e.Fatalf("History = %v, want acquired, the switch off and on again, acquired", kinds)
	}
	if gap := records[2].Seq - records[1].Seq; gap != 4 {
		e.Errorf("the three steps without a record moved the numbers by %d, want 4: numbering goes on", gap)
	}
}

func settingHistoryRenewals(e *env) {
	g := e.acquire("r", "h")
	e.renew(g.Lease)
	e.set(leasehold.SettingHistoryRenewals, false)
	e.renew(g.Lease)
	e.again(e.request("r", "h"), g)
	e.kinds("r", leasehold.KindAcquired, leasehold.KindRenewed)
	e.set(leasehold.SettingHistoryRenewals, true)
	e.renew(g.Lease)
	e.release(g.Lease)
	records := e.kinds("r", leasehold.KindAcquired, leasehold.KindRenewed, leasehold.KindRenewed, leasehold.KindReleased)
	if records[2].Renewals != 4 {
		e.Errorf("the renewal on record again is number %d, want 4: they are counted all the same", records[2].Renewals)
	}
}

// purged expects the records of purges to count so many, and the history to start
// after them.
func (e *env) purged(want int) {
	e.Helper()
	records := ReadHistory(e.TB, e.store)
	if len(records) == 0 {
		e.Fatal("nothing is left of the history, not even the record of the purge")
	}
	var count int
	var through uint64
	for _, r := range records {
		if r.Kind == leasehold.KindPurged {
			n, errCount := strconv.Atoi(r.Details["count"])
			last, errThrough := strconv.ParseUint(r.Details["through"], 10, 64)
			if errCount != nil || errThrough != nil {
				e.Errorf("record of a purge has the details %q, want count and through", r.Details)
			}
			count, through = count+n, last
		}
	}
	if count != want || records[0].Seq != through+1 {
		e.Errorf("purges of %d records through %d, oldest record %d; want %d purged and the oldest to follow", count, through, records[0].Seq, want)
	}
	checkNumbers(e.TB, records)
}

// settingMaxRows leaves it open whether the sweep notices the new limit before
// the cleanup does.
func settingMaxRows(e *env) {
	for range 10 {
		e.release(e.acquire("r", "h").Lease)
	}
	before := ReadHistory(e.TB, e.store)
	if len(before) != 20 {
		e.Fatalf("%d records of 20 steps", len(before))
	}
	e.set(leasehold.SettingHistoryMaxRows, 5)
	e.cleanup()
	e.waitIdle()
	records := ReadHistory(e.TB, e.store)
	if len(records) == 0 || len(records) > 7 {
		e.Fatalf("%d records after a cleanup, want 5 and the purge", len(records))
	}
	e.purged(int(records[0].Seq - before[0].Seq))
	if cleaned := e.cleanup(); cleaned.HistoryPurged > 2 {
		e.Errorf("a second Cleanup = %+v, want nothing left to purge", cleaned)
	}
	g := e.acquire("r", "h")
	e.held(g.Lease)
}

func settingRetention(e *env) {
	e.release(e.acquire("old", "h").Lease)
	old := e.grant(e.lasting("old", "holds on"))
	e.set(leasehold.SettingHistoryRetention, 1)
	e.pass(23 * time.Hour)
	e.renew(old.Lease)
	e.release(e.acquire("new", "h").Lease)
	if cleaned := e.cleanup(); cleaned.HistoryPurged != 0 {
		e.Fatalf("Cleanup = %+v after 23h, want nothing purged", cleaned)
	}
	e.pass(2 * time.Hour)
	e.cleanup() // the background sweep may have been faster
	for _, r := range ReadHistory(e.TB, e.store) {
		if time.Since(r.At) > 24*time.Hour {
			e.Errorf("record %d is %v old, want at most a day", r.Seq, time.Since(r.At))
		}
	}
	e.kinds("new", leasehold.KindAcquired, leasehold.KindReleased)
	e.purged(4)
	e.held(old.Lease) // history is not the lease
}

func settingAutoExpire(e *env) {
	e.grant(e.brief("on", "h"))
	e.outlive(e.short)
	e.pass(e.moments())
	e.kinds("on", leasehold.KindAcquired, leasehold.KindExpired)
	e.set(leasehold.SettingAutoExpire, false)
	off := e.grant(e.brief("off", "h"))
	e.outlive(e.short)
	e.pass(e.moments())
	e.kinds("off", leasehold.KindAcquired)
	if cleaned := e.cleanup(); cleaned.Expired != 1 {
		e.Errorf("Cleanup = %+v, want 1 expiry written down", cleaned)
	}
	e.kinds("off", leasehold.KindAcquired, leasehold.KindExpired)
	e.ended(off.Lease, leasehold.StateExpired)
}

// autoExpireOff: whether expiries are written down has no bearing on leases.
func autoExpireOff(e *env) {
	e.set(leasehold.SettingAutoExpire, false)
	g := e.grant(e.brief("r", "h"))
	e.outlive(e.short)
	e.ended(g.Lease, leasehold.StateExpired)
	e.reason("Renew", e.renewErr(g.Lease), e.lost(leasehold.ReasonExpired)...)
	e.grant(e.brief("r", "next"))
	if e.h.can(Waiting) {
		w := e.wait(e.request("r", "w"))
		w.granted()
		if e.h.Bubble {
			w.waited(e.short)
		}
	}
}

func settingInterval(e *env) {
	e.set(leasehold.SettingCleanupInterval, 1000)
	e.set(leasehold.SettingHistoryMaxRows, 3)
	e.waitIdle() // a new limit may be enforced at once
	for range 10 {
		e.release(e.acquire("r", "h").Lease)
	}
	count := func() int { return len(ReadHistory(e.TB, e.store)) }
	e.pass(500 * time.Second)
	if n := count(); n != 22 {
		e.Errorf("%d records after half the interval, want all 22", n)
	}
	e.pass(501 * time.Second)
	if n := count(); n > 4 {
		e.Errorf("%d records after the interval, want 3 and the purge", n)
	}
	e.set(leasehold.SettingCleanupInterval, 5) // effective at once
	for range 10 {
		e.release(e.acquire("r", "h").Lease)
	}
	e.pass(11 * time.Second)
	if n := count(); n > 4 {
		e.Errorf("%d records with the interval at 5s, want 3 and the purge", n)
	}
}
