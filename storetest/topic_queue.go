package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/leasehold/leasehold"
)

var fairnessChecks = []check{
	{name: "FirstComeFirstServed", run: firstCome, needs: []Capability{Waiting}},
	{name: "AHundredInOrder", run: hundredInOrder, needs: []Capability{Waiting}},
	{name: "HigherPriorityFirst", run: priorityFirst, needs: []Capability{Priorities}},
	{name: "ADeadWaiterNeverBlocks", run: deadWaiter, needs: []Capability{Waiting}},
	{name: "ATimeoutNeverBlocks", run: timeoutNeverBlocks, needs: []Capability{Waiting}},
	{name: "JoiningWithAnIDDoesNotOvertake", run: joiningBehind, needs: []Capability{Waiting}},
	{name: "HandOverIsOneStep", run: handOverAtomic, needs: []Capability{Waiting}},
	{name: "QueuesAreIndependent", run: queuesIndependent, needs: []Capability{Waiting}},
	{name: "AQueueOfShortLeases", run: queueOfShortLeases, needs: []Capability{Waiting}},
}

// inOrder expects the waiters to be granted the lease one after the other, each
// only after the one before has released.
func (e *env) inOrder(current leasehold.Lease, queue ...*waiter) {
	e.Helper()
	for i, w := range queue {
		for _, later := range queue[i:] {
			later.still()
		}
		e.release(current)
		current = w.atOnce().Lease
	}
	e.release(current)
	e.waitIdle()
	e.free(current.Resource)
}

func firstCome(e *env) {
	g := e.acquire("r", "h")
	a := e.wait(e.request("r", "a"))
	b := e.wait(e.request("r", "b"))
	c := e.wait(e.request("r", "c"))
	e.inOrder(g.Lease, a, b, c)
}

func hundredInOrder(e *env) {
	g := e.acquire("r", "h")
	var queue []*waiter
	for i := range 100 {
		queue = append(queue, e.wait(e.request("r", fmt.Sprint("w", i))))
	}
	if e.h.can(ShownQueue) {
		if err := e.refused(e.request("r", "x"), leasehold.ReasonHeld); err.Waiting != 100 {
			e.Errorf("ErrHeld: Waiting = %d, want 100", err.Waiting)
		}
	}
	e.inOrder(g.Lease, queue...)
}

func priorityFirst(e *env) {
	g := e.acquire("r", "h")
	join := func(holder string, priority int) *waiter {
		r := e.request("r", holder)
		r.Priority = priority
		return e.wait(r)
	}
	low := join("low", -100)
	plain := join("plain", 0)
	high := join("high", 7)
	plain2 := join("plain2", 0)
	high2 := join("high2", 7)
	top := join("top", 100)
	if e.h.can(ShownQueue) {
		var got []string
		for _, w := range e.status("r").Waiters {
			got = append(got, w.Holder)
		}
		if want := []string{"top", "high", "high2", "plain", "plain2", "low"}; !slices.Equal(got, want) {
			e.Errorf("Status.Waiters = %q, want %q", got, want)
		}
	}
	e.inOrder(g.Lease, top, high, high2, plain, plain2, low)
}

func deadWaiter(e *env) {
	g := e.acquire("r", "h")
	a := e.wait(e.request("r", "a"))
	dead := e.wait(e.request("r", "dead"))
	b := e.wait(e.request("r", "b"))
	deadFirst := e.wait(e.request("other", "free"))
	deadFirst.granted()
	dead.abandon()
	e.waitIdle()
	if e.h.can(ShownQueue) {
		e.eventually("the dead waiter leaves the queue", func() bool { return len(e.status("r").Waiters) == 2 })
	}
	e.inOrder(g.Lease, a, b)
}

func timeoutNeverBlocks(e *env) {
	g := e.acquire("r", "h")
	r := e.request("r", "impatient")
	r.Timeout = time.Second
	first := e.wait(r)
	second := e.wait(e.request("r", "patient"))
	e.reason("Wait", first.failed(), leasehold.ReasonTimeout)
	e.inOrder(g.Lease, second)
}

func handOverAtomic(e *env) {
	g := e.acquire("r", "h")
	w := e.wait(e.request("r", "w"))
	e.release(g.Lease)
	e.refused(e.request("r", "barger"), leasehold.ReasonHeld)
	e.held(w.atOnce().Lease)
}

// joiningBehind has a waiter join with an id, which a store may try at once as a
// repetition: before the release, or in the same moment. The first one is served
// first.
func joiningBehind(e *env) {
	join := []func(leasehold.AcquireRequest) *waiter{e.wait, e.start}
	for i := range 10 {
		g := e.acquire("r", "h")
		first := e.wait(e.request("r", "first"))
		joiner := join[i%2](withID(lasts(e.request("r", "joiner")), e.id()))
		e.release(g.Lease)
		current := first.atOnce()
		joiner.still()
		e.release(current.Lease)
		e.release(joiner.granted().Lease)
	}
}

// lasts makes a wait one without a timeout.
func lasts(r leasehold.AcquireRequest) leasehold.AcquireRequest {
	r.Timeout = leasehold.NoTimeout
	return r
}

func queuesIndependent(e *env) {
	a, b := e.acquire("a", "h"), e.acquire("b", "h")
	wa, wb := e.wait(e.request("a", "wa")), e.wait(e.request("b", "wb"))
	e.release(b.Lease)
	wb.atOnce()
	wa.still()
	e.release(a.Lease)
	wa.atOnce()
}

// queueOfShortLeases releases nothing: every end is an expiry.
func queueOfShortLeases(e *env) {
	e.grant(e.brief("r", "h"))
	a := e.wait(e.brief("r", "a"))
	b := e.wait(e.brief("r", "b"))
	a.granted()
	if e.h.Bubble { // elsewhere a's lease may be over by now
		b.still()
	}
	e.held(b.granted().Lease)
	if e.h.Bubble {
		b.waited(2 * e.short)
	}
}

var keptChecks = []check{
	{name: "AbsentIsSkipped", run: absentSkipped, needs: []Capability{KeptPlaces}},
	{name: "AbsentAloneBlocksNobody", run: absentAlone, needs: []Capability{KeptPlaces}},
	{name: "RankIsKept", run: rankKept, needs: []Capability{KeptPlaces}},
	{name: "RankIsKeptAfterTimeout", run: rankKeptAfterTimeout, needs: []Capability{KeptPlaces}},
	{name: "SkippedKeepsItsRank", run: skippedKeepsRank, needs: []Capability{KeptPlaces}},
	{name: "KeptForThirtySeconds", run: keptForThirtySeconds, needs: []Capability{KeptPlaces}, simulated: true},
	{name: "LostAfterThirtySeconds", run: lostAfterThirtySeconds, needs: []Capability{KeptPlaces}, simulated: true},
	{name: "NotKeptWithoutID", run: notKeptWithoutID, needs: []Capability{KeptPlaces}},
	{name: "NotShownWhileAbsent", run: absentNotShown, needs: []Capability{KeptPlaces, ShownQueue}},
	{name: "Superseded", run: superseded, needs: []Capability{KeptPlaces}},
	{name: "ComingAndGoingOften", run: comingAndGoing, needs: []Capability{KeptPlaces}},
	{name: "OtherResourcesAreNotMeant", run: keptPerResource, needs: []Capability{KeptPlaces}},
	{name: "OneWaitFailsOnce", run: oneWaitFailsOnce, needs: []Capability{KeptPlaces, History}},
	{name: "NoFailureOfAWaitThatGoesOn", run: noFailureOfAWaitThatGoesOn, needs: []Capability{KeptPlaces, History}},
	{name: "SupersededIsRecorded", run: supersededRecorded, needs: []Capability{KeptPlaces, History}},
}

// place is a request with an id, which keeps its place.
func (e *env) place(holder string) leasehold.AcquireRequest {
	return withID(e.request("r", holder), e.id())
}

func absentSkipped(e *env) {
	g := e.acquire("r", "h")
	away := e.wait(e.place("away"))
	here := e.wait(e.request("r", "here"))
	away.abandon()
	e.inOrder(g.Lease, here)
}

func absentAlone(e *env) {
	g := e.acquire("r", "h")
	e.wait(e.place("away")).abandon()
	e.release(g.Lease)
	e.waitIdle()
	e.free("r")
	e.acquire("r", "other")
}

func rankKept(e *env) {
	g := e.acquire("r", "h")
	r := e.place("first")
	first := e.wait(r)
	second := e.wait(e.request("r", "second"))
	first.abandon()
	e.pass(time.Second)
	e.inOrder(g.Lease, e.wait(r), second)
}

func rankKeptAfterTimeout(e *env) {
	g := e.acquire("r", "h")
	r := e.place("first")
	r.Timeout = time.Second
	first := e.wait(r)
	second := e.wait(e.request("r", "second"))
	e.reason("Wait", first.failed(), leasehold.ReasonTimeout)
	r.Timeout = 0
	e.inOrder(g.Lease, e.wait(r), second)
}

// skippedKeepsRank is absent at its turn, and still before later waiters when it
// is back.
func skippedKeepsRank(e *env) {
	g := e.acquire("r", "h")
	r := e.place("away")
	away := e.wait(r)
	second := e.wait(e.request("r", "second"))
	third := e.wait(e.request("r", "third"))
	away.abandon()
	e.release(g.Lease)
	current := second.atOnce()
	e.inOrder(current.Lease, e.wait(r), third)
}

func keptForThirtySeconds(e *env) {
	g := e.acquire("r", "h")
	r := e.place("first")
	first := e.wait(r)
	second := e.wait(e.request("r", "second"))
	first.abandon()
	e.pass(leasehold.KeptPlace - time.Millisecond)
	e.inOrder(g.Lease, e.wait(r), second)
}

func lostAfterThirtySeconds(e *env) {
	g := e.acquire("r", "h")
	r := e.place("first")
	first := e.wait(r)
	second := e.wait(e.request("r", "second"))
	first.abandon()
	e.pass(leasehold.KeptPlace + time.Millisecond + e.h.Slack)
	e.inOrder(g.Lease, second, e.wait(r))
}

func notKeptWithoutID(e *env) {
	g := e.acquire("r", "h")
	first := e.wait(e.request("r", "first"))
	second := e.wait(e.request("r", "second"))
	first.abandon()
	e.inOrder(g.Lease, second, e.wait(e.request("r", "first")))
}

func absentNotShown(e *env) {
	e.acquire("r", "h")
	r := e.place("away")
	e.wait(r).abandon()
	e.eventually("the absent waiter is not shown", func() bool { return len(e.status("r").Waiters) == 0 })
	if err := e.refused(e.request("r", "x"), leasehold.ReasonHeld); err.Waiting != 0 {
		e.Errorf("ErrHeld: Waiting = %d, want 0 while the only waiter is absent", err.Waiting)
	}
	e.wait(r)
	if n := len(e.status("r").Waiters); n != 1 {
		e.Errorf("Status shows %d waiters after it came back, want 1", n)
	}
}

func superseded(e *env) {
	g := e.acquire("r", "h")
	r := e.place("first")
	r.Timeout = leasehold.NoTimeout
	older := e.wait(r)
	second := e.wait(e.request("r", "second"))
	newer := e.start(r)
	e.reason("the older Wait", older.failed(), leasehold.ReasonSuperseded)
	e.waitIdle()
	if e.h.can(ShownQueue) {
		e.eventually("two waiters are shown", func() bool { return len(e.status("r").Waiters) == 2 })
	}
	e.inOrder(g.Lease, newer, second)
}

func comingAndGoing(e *env) {
	g := e.acquire("r", "h")
	r := e.place("restless")
	w := e.wait(r)
	patient := e.wait(e.request("r", "patient"))
	for range 10 {
		w.abandon()
		e.pass(e.short / 10)
		w = e.wait(r)
	}
	e.inOrder(g.Lease, w, patient)
}

func keptPerResource(e *env) {
	e.acquire("r", "h")
	other := e.acquire("other", "h")
	r := e.place("w")
	e.wait(r).abandon()
	first := e.wait(e.request("other", "first"))
	r.Resource = "other"
	e.inOrder(other.Lease, first, e.wait(r))
}

// decided is how long a store may take to record that a wait failed, because the
// client could still come back for its place.
const decided = 3 * time.Second

// oneWaitFailsOnce: a client that waits in several requests, one right after the
// other, made one wait.
func oneWaitFailsOnce(e *env) {
	e.acquire("r", "h")
	r := e.place("w")
	r.Timeout = time.Second
	for range 4 {
		e.wait(r).failed()
	}
	e.pass(decided)
	var failed []leasehold.Record
	e.eventually("a record of the failed wait", func() bool {
		failed = readHistory(e.TB, e.store, leasehold.HistoryRequest{Kind: leasehold.KindFailed})
		return len(failed) > 0
	})
	if len(failed) != 1 || failed[0].Holder != "w" || failed[0].Why != "timeout" {
		e.Errorf("records of a wait in four requests = %+v, want one of the timeout", failed)
	}
}

func noFailureOfAWaitThatGoesOn(e *env) {
	g := e.acquire("r", "h")
	r := e.place("w")
	r.Timeout = time.Second
	e.wait(r).failed()
	w := e.wait(r)
	e.release(g.Lease)
	w.granted()
	e.pass(decided)
	if failed := readHistory(e.TB, e.store, leasehold.HistoryRequest{Kind: leasehold.KindFailed}); len(failed) > 0 {
		e.Errorf("records of failures = %+v, want none: the second request got the lease", failed)
	}
}

func supersededRecorded(e *env) {
	e.acquire("r", "h")
	r := e.place("w")
	r.Timeout = leasehold.NoTimeout
	older := e.wait(r)
	e.start(r)
	older.failed()
	e.eventually("a record of the superseded wait", func() bool {
		failed := readHistory(e.TB, e.store, leasehold.HistoryRequest{Kind: leasehold.KindFailed})
		e.secret("history", fmt.Sprintf("%+v", failed))
		return len(failed) == 1 && failed[0].Why == "superseded" && failed[0].Holder == "w"
	})
}
