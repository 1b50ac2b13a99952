package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/leasehold/leasehold"
)

var setWaitChecks = []check{
	{name: "FreeIsImmediate", run: waitFreeSet, needs: []Capability{Sets, Waiting}},
	{name: "WokenWhenAllIsFree", run: setWoken, needs: []Capability{Sets, Waiting}},
	{name: "WokenByExpiryAndBreak", run: setWokenOtherwise, needs: []Capability{Sets, Waiting, Breaking}},
	{name: "WokenByForceRelease", run: setWokenByForce, needs: []Capability{Sets, Waiting, ForceRelease}},
	{name: "HoldsNothing", run: setWaiterHoldsNothing, needs: []Capability{Sets, ShownQueue}},
	{name: "FirstComeFirstServed", run: setsInOrder, needs: []Capability{Sets, Waiting}},
	{name: "HigherPriorityFirst", run: setsByPriority, needs: []Capability{Sets, Priorities}},
	{name: "NamesAndSetsInOneOrder", run: namesAndSetsInOrder, needs: []Capability{Sets, Waiting}},
	{name: "ApartIsIndependent", run: setsApartWait, needs: []Capability{Sets, Waiting}},
	{name: "TimesOut", run: setWaitTimesOut, needs: []Capability{Sets, Waiting}},
	{name: "CancelledIsGone", run: setWaitCancelled, needs: []Capability{Sets, Waiting}},
	{name: "PlaceIsKept", run: setPlaceKept, needs: []Capability{Sets, KeptPlaces}},
	{name: "FailureIsRecorded", run: setFailureRecorded, needs: []Capability{Sets, Waiting, History}},
	{name: "OfPatterns", run: waitForPatterns, needs: []Capability{Sets, Waiting}},
	{name: "ReadersGetInTogether", run: readersTogether, needs: []Capability{Sets, Waiting}},
	{name: "UpgradeWaits", run: upgradeWaits, needs: []Capability{Sets, Waiting}},
	{name: "UpgradeGivenUp", run: upgradeGivenUp, needs: []Capability{Sets, Waiting}},
	{name: "UpgradeOfWhatExpired", run: upgradeExpired, needs: []Capability{Sets, Waiting, Memory}},
	{name: "AgainWhileBreaking", run: setAgainWhileBreaking, needs: []Capability{Sets, Waiting, Memory, Breaking}},
	{name: "NotGrantedInTheMidstOfABreak", run: breakIsOneStep, needs: []Capability{Sets, Waiting, Breaking, Memory}},
	{name: "NotGrantedInTheMidstOfAForceRelease", run: forceOfSetsIsOneStep, needs: []Capability{Sets, Waiting, ForceRelease, Memory}},
	{name: "UpgradePassesWaiters", run: upgradePasses, needs: []Capability{Sets, Waiting}},
	{name: "DowngradeWakes", run: downgradeWakes, needs: []Capability{Sets, Waiting}},
}

func waitFreeSet(e *env) {
	w := e.wait(e.mixture("h"))
	e.stillCovers(w.granted().Lease)
	w.waited(0)
}

func setWoken(e *env) {
	a, b := e.acquire("a", "first"), e.grant(e.names("second", "b", "x"))
	w := e.wait(e.names("h", "a", "b", "c"))
	e.release(a.Lease)
	e.waitIdle()
	w.still()
	e.pass(time.Second)
	e.release(b.Lease)
	g := w.atOnce()
	e.stillCovers(g.Lease)
	w.waited(time.Second)
	if !e.about(g.Remaining, e.long) {
		e.Errorf("%v remain after the wait, want the whole ttl %v", g.Remaining, e.long)
	}
	e.release(e.acquire("x", "other").Lease)
}

func setWokenOtherwise(e *env) {
	e.grant(e.soon(e.sharing("expires", "a")))
	e.grant(e.sharing("is broken", "a", "b"))
	w := e.wait(e.names("h", "b", "a"))
	e.breakIn("b", 0)
	e.waitIdle()
	w.still()
	e.stillCovers(w.granted().Lease) // by the expiry
}

func setWokenByForce(e *env) {
	e.acquire("a", "bad")
	e.grant(e.names("bad", "b", "c"))
	w := e.wait(e.names("h", "a", "b"))
	e.force("bad", "", 2)
	e.stillCovers(w.atOnce().Lease)
}

func setWaiterHoldsNothing(e *env) {
	g := e.acquire("a", "first")
	w := e.wait(e.names("h", "a", "b"))
	e.free("b")
	if e.h.can(Listing) {
		e.lists(leasehold.ListRequest{}, "a")
	}
	for _, name := range []string{"a", "b"} {
		if got := e.status(name).Waiters; len(got) != 1 || got[0].Holder != "h" {
			e.Errorf("Status(%q).Waiters = %+v, want the waiter for both", name, got)
		}
	}
	e.release(g.Lease)
	e.stillCovers(w.atOnce().Lease)
	if got := e.status("b").Waiters; len(got) != 0 {
		e.Errorf("Status.Waiters = %+v after the grant, want none", got)
	}
}

// oneByOne expects the waiters to be granted one after the other, each only after
// the one before has released.
func (e *env) oneByOne(current leasehold.Lease, queue ...*waiter) {
	e.Helper()
	for i, w := range queue {
		e.waitIdle()
		for _, later := range queue[i:] {
			later.still()
		}
		e.release(current)
		current = w.atOnce().Lease
	}
	e.release(current)
}

func setsInOrder(e *env) {
	g := e.acquire("a", "h")
	e.oneByOne(g.Lease, e.wait(e.names("first", "a", "b")), e.wait(e.names("second", "b", "a")), e.wait(e.names("third", "a")))
}

func setsByPriority(e *env) {
	g := e.acquire("a", "h")
	join := func(priority int, names ...string) *waiter {
		r := e.names(fmt.Sprint("priority ", priority), names...)
		r.Priority = priority
		return e.wait(r)
	}
	low, middle, high := join(-5, "a", "b"), join(0, "a", "c"), join(5, "a", "b")
	if e.h.can(ShownQueue) {
		var got []string
		for _, w := range e.status("a").Waiters {
			got = append(got, w.Holder)
		}
		if want := []string{"priority 5", "priority 0", "priority -5"}; !slices.Equal(got, want) {
			e.Errorf("Status.Waiters = %q, want %q", got, want)
		}
	}
	e.oneByOne(g.Lease, high, middle, low)
}

func namesAndSetsInOrder(e *env) {
	g := e.acquire("a", "h")
	queue := []*waiter{
		e.wait(e.request("a", "first")), e.wait(e.names("second", "a", "b")),
		e.wait(e.request("a", "third")), e.wait(e.names("fourth", "a")),
	}
	if e.h.can(ShownQueue) {
		var got []string
		for _, w := range e.status("a").Waiters {
			got = append(got, w.Holder)
		}
		if want := []string{"first", "second", "third", "fourth"}; !slices.Equal(got, want) {
			e.Errorf("Status.Waiters = %q, want %q", got, want)
		}
		if err := e.refused(e.request("a", "x"), leasehold.ReasonHeld); err.Waiting != 4 {
			e.Errorf("ErrHeld: Waiting = %d, want 4", err.Waiting)
		}
	}
	e.oneByOne(g.Lease, queue...)
}

func setsApartWait(e *env) {
	a, b := e.acquire("a", "h"), e.acquire("b", "h")
	first, second := e.wait(e.names("first", "a", "c")), e.wait(e.names("second", "b", "d"))
	e.release(b.Lease)
	second.atOnce()
	first.still()
	e.release(a.Lease)
	first.atOnce()
}

func setWaitTimesOut(e *env) {
	g := e.acquire("a", "h")
	r := e.names("impatient", "a", "b")
	r.Timeout = time.Second
	w, behind := e.wait(r), e.wait(e.request("b", "behind"))
	behind.still()
	if err := e.reason("Wait", w.failed(), leasehold.ReasonTimeout); err.Waited < time.Second {
		e.Errorf("Wait timed out with Waited = %v, want %v", err.Waited, time.Second)
	}
	behind.granted() // nothing is kept free any more
	e.release(g.Lease)
	e.waitIdle()
	e.free("a")
}

func setWaitCancelled(e *env) {
	g := e.acquire("a", "h")
	w, behind := e.wait(e.names("gone", "a", "b")), e.wait(e.names("behind", "b", "c"))
	behind.still()
	e.reason("Wait", w.abandon(), leasehold.ReasonCancelled)
	e.stillCovers(behind.atOnce().Lease)
	e.release(g.Lease)
	e.waitIdle()
	e.free("a")
}

func setPlaceKept(e *env) {
	g := e.acquire("a", "h")
	r := withID(e.names("first", "a", "b"), e.id())
	first := e.wait(r)
	second := e.wait(e.names("second", "a", "b"))
	first.abandon()
	e.pass(time.Second)
	e.oneByOne(g.Lease, e.wait(r), second)
}

func waitForPatterns(e *env) {
	g := e.grant(e.claims("h", leasehold.Paths("ns", "src/auth/**")...))
	all := e.wait(e.claims("all", leasehold.Paths("ns", "**")...))
	e.release(e.grant(e.claims("elsewhere", leasehold.Paths("other", "src")...)).Lease)
	one := e.wait(e.claims("one", leasehold.Paths("ns", "docs/x")...))
	e.oneByOne(g.Lease, all, one)
}

func readersTogether(e *env) {
	g := e.acquire("a", "h")
	first, second := e.wait(e.sharing("first", "a")), e.wait(e.sharing("second", "a", "b"))
	writer, third := e.wait(e.names("writer", "a")), e.wait(e.sharing("third", "a"))
	e.release(g.Lease)
	e.covered("a", first.atOnce(), second.atOnce())
	writer.still()
	third.still() // it came after the writer
	e.release(first.grant.Lease)
	e.waitIdle()
	writer.still()
	e.release(second.grant.Lease)
	e.release(writer.atOnce().Lease)
	third.atOnce()
}

func upgradeWaits(e *env) {
	r := withID(e.sharing("h", "a", "b"), e.id())
	g, other := e.grant(r), e.grant(e.sharing("other", "b"))
	r.Claims = leasehold.Resources("a", "b")
	w := e.wait(r)
	w.still()
	if l := e.held(g.Lease); !slices.Equal(l.Claims, g.Claims) {
		e.Errorf("while the upgrade waits the lease covers %v, want %v", l.Claims, g.Claims)
	}
	e.pass(time.Second)
	e.release(other.Lease)
	up := w.atOnce()
	if up.Resource != g.Resource || up.Token <= g.Token || up.Idempotent {
		e.Errorf("the upgrade = %q with token %d, idempotent %v; want %q with a token above %d", up.Resource, up.Token, up.Idempotent, g.Resource, g.Token)
	}
	w.waited(time.Second)
	e.stillCovers(up.Lease)
	e.refused(e.sharing("other", "b"), leasehold.ReasonHeld)
}

// upgradeGivenUp leaves the lease as it was, and keeps nothing free.
func upgradeGivenUp(e *env) {
	r := e.sharing("h", "a")
	g, other := e.grant(r), e.grant(e.sharing("other", "a"))
	r.ID, r.Claims, r.Timeout = g.ID, leasehold.Resources("a"), time.Second
	w := e.wait(r)
	e.kept(e.sharing("reader", "a"), "h", other.Lease, "a")
	reader := e.wait(e.sharing("reader", "a"))
	e.reason("Wait", w.failed(), leasehold.ReasonTimeout)
	e.covered("a", g, other, reader.granted())
	e.renew(g.Lease)
}

// upgradeExpired loses the lease that it would upgrade: its id is spent.
func upgradeExpired(e *env) {
	r := withID(e.soon(e.sharing("h", "a")), e.id())
	e.grant(r)
	e.grant(e.sharing("other", "a"))
	r.Claims = leasehold.Resources("a")
	w := e.wait(r)
	w.still()
	e.reason("Wait for the upgrade", w.failed(), leasehold.ReasonExpired)
}

// setAgainWhileBreaking waits for the end of its own lease, whose id is then spent.
func setAgainWhileBreaking(e *env) {
	for _, r := range []leasehold.AcquireRequest{e.names("h", "a"), e.sharing("h", "b")} {
		r.ID = e.id()
		g := e.grant(r)
		e.breakIn(g.Resource, e.breakPeriod())
		w := e.wait(r)
		e.pass(e.breakPeriod() + e.moments())
		w.over()
		e.reason("Wait", w.failed(), leasehold.ReasonBroken)
	}
}

// breakIsOneStep breaks a name that two share, of whom one waits to have it alone: its
// own lease ends with the other.
func breakIsOneStep(e *env) {
	for _, ttl := range []time.Duration{e.short, e.long + time.Second} { // whichever a store ends first
		r := e.sharing("other", "a")
		r.TTL = ttl
		other := e.grant(r)
		r = withID(e.sharing("h", "a", "b"), e.id())
		g := e.grant(r)
		r.Claims = leasehold.Resources("a", "b")
		w := e.wait(r)
		e.breakIn("a", 0)
		e.reason("Wait for the upgrade", w.failed(), leasehold.ReasonBroken)
		e.ended(g.Lease, leasehold.StateBroken)
		e.ended(other.Lease, leasehold.StateBroken)
		e.allFree(r.Claims...)
	}
}

// forceOfSetsIsOneStep releases two leases of a holder, of which one is to be upgraded
// when the other ends.
func forceOfSetsIsOneStep(e *env) {
	for i := range 2 {
		r := withID(e.sharing("h", "a", "b"), e.id())
		var g, other leasehold.Grant
		if i == 0 { // whichever a store ends first
			g, other = e.grant(r), e.grant(e.sharing("h", "a"))
		} else {
			other, g = e.grant(e.sharing("h", "a")), e.grant(r)
		}
		r.Claims = leasehold.Resources("a", "b")
		w := e.wait(r)
		e.force("h", "", 2)
		e.reason("Wait for the upgrade", w.failed(), leasehold.ReasonReleased)
		e.ended(g.Lease, leasehold.StateReleased)
		e.ended(other.Lease, leasehold.StateReleased)
		e.allFree(r.Claims...)
	}
}

func setFailureRecorded(e *env) {
	e.acquire("a", "h")
	r := e.names("late", "a", "b")
	r.Timeout = time.Second
	e.wait(r).failed()
	e.pass(decided)
	var failed []leasehold.Record
	e.eventually("a record of the failed wait", func() bool {
		failed = readHistory(e.TB, e.store, leasehold.HistoryRequest{Kind: leasehold.KindFailed})
		return len(failed) > 0
	})
	f := failed[0]
	if len(failed) != 1 || f.Holder != "late" || f.Why != "timeout" || f.Resource != leasehold.SetPrefix {
		e.Errorf("records of failed waits = %+v, want that of %q", failed, "late")
	}
	e.recordedClaims(f, r.Claims)
}

// upgradePasses waits for the readers, not for those who wait for it.
func upgradePasses(e *env) {
	r := withID(e.sharing("h", "a"), e.id())
	e.grant(r)
	other := e.grant(e.sharing("other", "a"))
	writer, set := e.wait(e.request("a", "writer")), e.wait(e.names("set", "a", "b"))
	r.Claims = leasehold.Resources("a")
	w := e.wait(r)
	e.oneByOne(other.Lease, w, writer, set)
}

func downgradeWakes(e *env) {
	r := withID(e.names("h", "a", "b"), e.id())
	e.grant(r)
	reader, writer := e.wait(e.sharing("reader", "a")), e.wait(e.names("writer", "b"))
	r.Claims = shared(r.Claims)
	g := e.grant(r)
	e.release(reader.atOnce().Lease)
	writer.still()
	e.release(g.Lease)
	writer.atOnce()
}

var reservationChecks = []check{
	{name: "ALargeSetIsNotStarved", run: largeNotStarved, needs: []Capability{Sets, Waiting}},
	{name: "ReadersDoNotStarveANameWaiter", run: nameNotStarved, needs: []Capability{Sets, Waiting}},
	{name: "ReadersDoNotStarveASetWaiter", run: setNotStarved, needs: []Capability{Sets, Waiting}},
	{name: "OnlyWhatConflicts", run: reservesConflicts, needs: []Capability{Sets, Waiting}},
	{name: "HigherPriorityPasses", run: priorityPasses, needs: []Capability{Sets, Priorities}},
	{name: "EndsAfterOneTTL", run: reservationEnds, needs: []Capability{Sets, Waiting}},
	{name: "TheRankOutlivesIt", run: rankOutlivesReservation, needs: []Capability{Sets, Waiting}},
	{name: "ItsEndWakes", run: reservationEndWakes, needs: []Capability{Sets, Waiting}},
	{name: "OfInfiniteEndsToo", run: infiniteReservationEnds, needs: []Capability{Sets, Waiting, Infinite}, simulated: true},
	{name: "NoneOfTheAbsent", run: absentReservesNothing, needs: []Capability{Sets, KeptPlaces}},
}

// kept expects a request to be refused because of a waiter, and says who that waits
// for.
func (e *env) kept(r leasehold.AcquireRequest, forHolder string, waitsFor leasehold.Lease, part string) {
	e.Helper()
	err := e.refused(r, leasehold.ReasonHeld)
	if err.Reserved != forHolder {
		e.Fatalf("%v: Reserved = %q, want %q", err, err.Reserved, forHolder)
	}
	if c := err.Current; c == nil || c.Resource != waitsFor.Resource || c.Token != waitsFor.Token {
		e.Errorf("%v: Current = %+v, want what the waiter waits for, %q with token %d", err, c, waitsFor.Resource, waitsFor.Token)
	}
	if err.Overlap == nil || err.Overlap.Part != part {
		e.Errorf("%v: Overlap = %+v, want the part %q", err, err.Overlap, part)
	}
}

// largeNotStarved has small requests of a and b come all the time.
func largeNotStarved(e *env) {
	a, b := e.acquire("a", "small"), e.acquire("b", "small")
	large := e.wait(e.names("large", "a", "b"))
	var stream []*waiter
	for i := range 5 {
		e.refused(e.request("a", "small"), leasehold.ReasonHeld)
		stream = append(stream, e.wait(e.request([]string{"a", "b"}[i%2], fmt.Sprint("stream", i))))
	}
	e.release(b.Lease)
	e.waitIdle()
	e.free("b")
	e.kept(e.request("b", "small"), "large", a.Lease, "b")
	e.kept(e.names("small", "c", "b"), "large", a.Lease, "b")
	for _, w := range stream {
		w.still()
	}
	e.release(a.Lease)
	g := large.atOnce()
	for _, w := range stream {
		w.still()
	}
	e.release(g.Lease)
	stream[0].atOnce()
	stream[1].atOnce()
	stream[2].still()
}

func nameNotStarved(e *env) {
	last := e.grant(e.sharing("reader", "a"))
	writer := e.wait(e.request("a", "writer"))
	for i := range 3 {
		e.kept(e.sharing(fmt.Sprint("reader", i), "a"), "writer", last.Lease, "a")
	}
	late := e.wait(e.sharing("late reader", "a"))
	e.release(last.Lease)
	g := writer.atOnce()
	late.still()
	e.release(g.Lease)
	late.atOnce()
}

func setNotStarved(e *env) {
	last := e.grant(e.claims("reader", shared(leasehold.Paths("ns", "src/a"))...))
	writer := e.wait(e.claims("writer", leasehold.Paths("ns", "src/**")...))
	for i, path := range []string{"src/a", "src/b", "src/*"} {
		e.kept(e.claims(fmt.Sprint("reader", i), shared(leasehold.Paths("ns", path))...), "writer", last.Lease, path)
	}
	late := e.wait(e.claims("late reader", shared(leasehold.Paths("ns", "src/a"))...))
	e.release(last.Lease)
	g := writer.atOnce()
	late.still()
	e.release(g.Lease)
	late.atOnce()
}

func reservesConflicts(e *env) {
	held := e.acquire("a", "h")
	w := e.wait(e.claims("w", leasehold.Claim{Pattern: "a"}, leasehold.Claim{Pattern: "b", Mode: leasehold.Shared}))
	reader := e.grant(e.sharing("reader", "b"))
	e.release(e.acquire("c", "other").Lease)
	e.release(reader.Lease)
	e.kept(e.request("b", "writer"), "w", held.Lease, "b")
	reader = e.grant(e.sharing("reader", "b"))
	e.release(held.Lease)
	w.atOnce()
	e.held(reader.Lease)
}

func priorityPasses(e *env) {
	held := e.acquire("a", "h")
	w := e.wait(e.names("w", "a", "b"))
	urgent := e.request("b", "urgent")
	urgent.Priority = 1
	g := e.wait(urgent).granted()
	e.release(held.Lease)
	e.waitIdle()
	w.still()
	e.release(g.Lease)
	w.atOnce()
}

func reservationEnds(e *env) {
	held := e.acquire("a", "h")
	w := e.wait(e.soon(e.names("w", "a", "b")))
	e.pass(e.short / 2)
	e.kept(e.request("b", "other"), "w", held.Lease, "b")
	e.outlive(e.short / 2)
	g := e.acquire("b", "other")
	w.still()
	e.release(held.Lease)
	e.waitIdle()
	w.still()
	e.release(g.Lease)
	w.atOnce() // it has kept its place
}

// rankOutlivesReservation has a later waiter for a name that comes free together with
// the rest of the set.
func rankOutlivesReservation(e *env) {
	held := e.acquire("a", "h")
	w := e.wait(e.soon(e.names("w", "a", "b")))
	e.outlive(e.short)
	later := e.wait(e.request("a", "later"))
	e.oneByOne(held.Lease, w, later)
}

func reservationEndWakes(e *env) {
	e.acquire("a", "h")
	w := e.wait(e.soon(e.names("w", "a", "b")))
	behind := e.wait(e.request("b", "behind"))
	behind.still()
	behind.granted()
	w.still()
	if e.h.Bubble {
		behind.waited(e.short)
	}
}

func infiniteReservationEnds(e *env) {
	r := e.request("probe", "h")
	r.TTL = 0
	standard := e.grant(r).TTL
	held := e.grant(e.lasting("a", "h"))
	w := e.wait(leasehold.AcquireRequest{Claims: leasehold.Resources("a", "b"), Holder: "w", TTL: leasehold.Infinite})
	e.pass(standard - time.Second)
	e.kept(e.request("b", "other"), "w", held.Lease, "b")
	e.pass(time.Second + e.h.Slack)
	e.acquire("b", "other")
	w.still()
}

func absentReservesNothing(e *env) {
	e.acquire("a", "h")
	r := withID(e.names("away", "a", "b"), e.id())
	w, behind := e.wait(r), e.wait(e.request("b", "behind"))
	behind.still()
	w.abandon()
	e.release(behind.atOnce().Lease)
	e.release(e.acquire("b", "other").Lease)
	e.wait(r)
	if err := e.refused(e.request("b", "other"), leasehold.ReasonHeld); err.Reserved != "away" {
		e.Errorf("%v: Reserved = %q after it came back, want %q", err, err.Reserved, "away")
	}
}
