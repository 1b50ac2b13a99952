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
	{name: "HandOverIsOneStep", run: handOverAtomic, needs: []Capability{Waiting}},
	{name: "QueuesAreIndependent", run: queuesIndependent, needs: []Capability{Waiting}},
	{name: "AQueueOfShortLeases", run: queueOfShortLeases, needs: []Capability{Waiting}},
}

// inOrder expects the waiters to be served one after the other, each of them
// only after the one before has given back.
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
	e.settle()
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
	dead.leave()
	e.settle()
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

func queuesIndependent(e *env) {
	a, b := e.acquire("a", "h"), e.acquire("b", "h")
	wa, wb := e.wait(e.request("a", "wa")), e.wait(e.request("b", "wb"))
	e.release(b.Lease)
	wb.atOnce()
	wa.still()
	e.release(a.Lease)
	wa.atOnce()
}

// queueOfShortLeases has nobody give back: every end is an expiry.
func queueOfShortLeases(e *env) {
	e.grant(e.brief("r", "h"))
	a := e.wait(e.brief("r", "a"))
	b := e.wait(e.brief("r", "b"))
	a.granted()
	b.still()
	e.held(b.granted().Lease)
	if e.h.Bubble {
		b.waited(2 * e.short)
	}
}
