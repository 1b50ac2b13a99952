package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/leasehold/leasehold"
)

// waitsChecks are of who waits for whom, as a list of all.
var waitsChecks = []check{
	{name: "NobodyWaits", run: nobodyWaits, needs: []Capability{Waits}},
	{name: "InOneQueue", run: waitsInOneQueue, needs: []Capability{Waits}},
	{name: "LongestFirst", run: waitsLongestFirst, needs: []Capability{Waits}},
	{name: "LimitSaysTotal", run: waitsLimit, needs: []Capability{Waits}},
	{name: "ForSets", run: waitsForSets, needs: []Capability{Waits, Sets}},
	{name: "BehindAReservation", run: waitsBehindReservation, needs: []Capability{Waits, Sets}},
	{name: "TheAbsentDoNotShow", run: waitsOfAbsent, needs: []Capability{Waits, KeptPlaces}},
	{name: "RefusedCycleIsAnnounced", run: cycleAnnounced, needs: []Capability{Deadlocks, Watching, History}},
	{name: "CycleByAGrantIsRecorded", run: cycleRecorded, needs: []Capability{Deadlocks, Sets, History}},
}

// waits lists who waits. It expects plausible times, and removes them.
func (e *env) waits(limit int) leasehold.WaitList {
	e.Helper()
	list, err := power[leasehold.WaitLister](e).Waits(e.Context(), limit)
	if err != nil {
		e.Fatalf("Waits(%d) = %v", limit, err)
	}
	for i := range list.Waits {
		w := &list.Waits[i]
		if age := time.Since(w.Since); age < -e.tolerance() || age > time.Hour {
			e.Errorf("Waits: %q waits since %v, %v ago", w.Holder, w.Since, age)
		}
		w.Since = time.Time{}
	}
	return list
}

// waitsAre expects just these to wait.
func (e *env) waitsAre(want ...leasehold.Wait) {
	e.Helper()
	diff := cmp.Diff(leasehold.WaitList{Waits: want, Total: len(want)}, e.waits(0), cmpopts.EquateEmpty())
	if diff != "" {
		e.Errorf("Waits (-want +got):\n%s", diff)
	}
}

// behindLease is what waits behind a lease for a claim.
func behindLease(l leasehold.Lease, c leasehold.Claim) leasehold.Blocker {
	return leasehold.Blocker{Holder: l.Holder, Resource: l.Resource, Token: l.Token, Claim: c}
}

func named(name string) leasehold.Claim { return leasehold.Claim{Pattern: name} }

func nobodyWaits(e *env) {
	e.waitsAre()
	e.acquire("r", "a")
	e.waitsAre()
	for _, limit := range []int{-1, leasehold.MaxPage + 1} {
		_, err := power[leasehold.WaitLister](e).Waits(e.Context(), limit)
		e.invalid(fmt.Sprintf("Waits(%d)", limit), err, "limit")
	}
}

func waitsInOneQueue(e *env) {
	g := e.acquire("r", "a")
	b := e.wait(sequence(e.request("r", "b")))
	urgent := e.request("r", "c")
	urgent.Priority = 5
	c := e.wait(urgent)
	behind := []leasehold.Blocker{behindLease(g.Lease, named("r"))}
	e.waitsAre(
		leasehold.Wait{Place: leasehold.Place{Holder: "b", Position: 2}, Resource: "r", Sequence: true, Behind: behind},
		leasehold.Wait{Place: leasehold.Place{Holder: "c", Priority: 5, Position: 1}, Resource: "r", Behind: behind})
	e.release(g.Lease)
	g = c.granted()
	e.waitsAre(leasehold.Wait{Place: leasehold.Place{Holder: "b", Position: 1}, Resource: "r", Sequence: true,
		Behind: []leasehold.Blocker{behindLease(g.Lease, named("r"))}})
	e.release(g.Lease)
	b.granted()
	e.waitsAre()
}

// waitsLongestFirst expects the order of arrival across queues.
func waitsLongestFirst(e *env) {
	for _, r := range []string{"z", "y", "x"} {
		e.acquire(r, "a")
		e.wait(e.request(r, "w"+r))
	}
	var got []string
	for _, w := range e.waits(0).Waits {
		got = append(got, w.Holder)
	}
	if want := []string{"wz", "wy", "wx"}; !slices.Equal(got, want) {
		e.Errorf("Waits lists %v, want %v", got, want)
	}
}

func waitsLimit(e *env) {
	e.acquire("r", "a")
	for i := range 3 {
		e.wait(e.request("r", fmt.Sprint("w", i)))
	}
	list := e.waits(2)
	if len(list.Waits) != 2 || list.Total != 3 || list.Waits[1].Holder != "w1" {
		e.Errorf("Waits(2) = %+v, want the first two of 3", list)
	}
}

func waitsForSets(e *env) {
	x, y := e.acquire("x", "a"), e.acquire("y", "b")
	w := e.wait(e.names("w", "x", "y", "z"))
	e.waitsAre(leasehold.Wait{
		Place: leasehold.Place{Holder: "w", Position: 1}, Claims: leasehold.Resources("x", "y", "z"), Reserving: true,
		Behind: []leasehold.Blocker{behindLease(x.Lease, named("x")), behindLease(y.Lease, named("y"))},
	})
	e.release(x.Lease)
	e.waitsAre(leasehold.Wait{
		Place: leasehold.Place{Holder: "w", Position: 1}, Claims: leasehold.Resources("x", "y", "z"), Reserving: true,
		Behind: []leasehold.Blocker{behindLease(y.Lease, named("y"))},
	})
	e.release(y.Lease)
	w.granted()
	e.waitsAre()
}

// waitsBehindReservation expects a waiter that another keeps out, though nobody holds
// what it wants.
func waitsBehindReservation(e *env) {
	x := e.acquire("x", "a")
	e.wait(e.names("first", "x", "y"))
	e.wait(e.request("y", "second"))
	e.waitsAre(
		leasehold.Wait{Place: leasehold.Place{Holder: "first", Position: 1}, Claims: leasehold.Resources("x", "y"), Reserving: true,
			Behind: []leasehold.Blocker{behindLease(x.Lease, named("x"))}},
		leasehold.Wait{Place: leasehold.Place{Holder: "second", Position: 2}, Resource: "y",
			Behind: []leasehold.Blocker{{Holder: "first", Claim: named("y")}}})
}

func waitsOfAbsent(e *env) {
	g := e.acquire("r", "a")
	r := e.request("r", "b")
	r.ID = e.id()
	b := e.wait(r)
	b.abandon()
	e.eventually("the waiter is gone", func() bool { return e.waits(0).Total == 0 })
	again := e.wait(r)
	e.waitsAre(leasehold.Wait{Place: leasehold.Place{Holder: "b", Position: 1}, Resource: "r",
		Behind: []leasehold.Blocker{behindLease(g.Lease, named("r"))}})
	e.release(g.Lease)
	again.granted()
}

// recordedCycle reads the cycle from the details of a record.
func (e *env) recordedCycle(r leasehold.Record, kind leasehold.Kind, want string) {
	e.Helper()
	if r.Kind != kind || r.Why != string(leasehold.ReasonDeadlock) {
		e.Errorf("the record is %s, %q, want %s by a deadlock", r.Kind, r.Why, kind)
	}
	var cycle []struct {
		Holder string          `json:"holder"`
		Claim  leasehold.Claim `json:"claim"`
		HeldBy string          `json:"held_by"`
	}
	if err := json.Unmarshal([]byte(r.Details["cycle"]), &cycle); err != nil {
		e.Fatalf("details of %s %s: cycle is %q: %v", r.Kind, r.Why, r.Details["cycle"], err)
	}
	got := ""
	for _, c := range cycle {
		got += fmt.Sprintf("%s waits for %s of %s; ", c.Holder, c.Claim.Pattern, c.HeldBy)
	}
	if got != want {
		e.Errorf("cycle of %s %s = %q, want %q", r.Kind, r.Why, got, want)
	}
}

func cycleAnnounced(e *env) {
	after := e.firstRecord()
	e.acquire("x", "a")
	e.acquire("y", "b")
	e.wait(sequence(e.request("y", "a")))
	w := e.watch(leasehold.WatchRequest{After: after})
	e.eventually("the watcher is there", func() bool { return w.count() == 2 })
	e.reason("Wait", e.wait(sequence(e.request("x", "b"))).refusedAtOnce(), leasehold.ReasonDeadlock)
	if w.collect(3); len(w.notices) == 3 {
		e.recordedCycle(w.notices[2].Record, leasehold.KindRefused, "b waits for x of a; a waits for y of b; ")
	}
}

// cycleRecorded expects a wait that is refused later, because of a grant to its own
// holder, to say so in its record.
func cycleRecorded(e *env) {
	e.acquire("x", "b")
	e.acquire("z", "other")
	e.wait(e.soon(sequence(e.names("b", "y", "z"))))
	stuck := e.wait(sequence(e.request("x", "a")))
	e.outlive(e.short) // b keeps nothing free any more
	e.acquire("y", "a")
	e.reason("Wait", stuck.refusedAtOnce(), leasehold.ReasonDeadlock)
	page, err := power[leasehold.Historian](e).History(e.Context(), leasehold.HistoryRequest{Kind: leasehold.KindFailed})
	if err != nil || len(page.Records) != 1 {
		e.Fatalf("History has %d failed waits, %v; want 1", len(page.Records), err)
	}
	e.recordedCycle(page.Records[0], leasehold.KindFailed, "a waits for x of b; b waits for y of a; ")
}
