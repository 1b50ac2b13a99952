package storetest

import (
	"fmt"
	"slices"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold/leasehold"
)

var deadlockChecks = []check{
	{name: "OfTwo", run: cycleOfTwo, needs: []Capability{Deadlocks}},
	{name: "OfThree", run: cycleOfThree, needs: []Capability{Deadlocks}},
	{name: "OfOne", run: cycleOfOne, needs: []Capability{Deadlocks}},
	{name: "OfSets", run: cycleOfSets, needs: []Capability{Deadlocks, Sets}},
	{name: "TwoUpgraders", run: twoUpgraders, needs: []Capability{Deadlocks, Sets}},
	{name: "UpgradesDoNotWaitForWaiters", run: upgradeIsNoCycle, needs: []Capability{Deadlocks, Sets}},
	{name: "ThroughAReservation", run: cycleThroughReservation, needs: []Capability{Deadlocks, Sets}},
	{name: "ThroughTheSecondOfAQueue", run: cycleThroughSecond, needs: []Capability{Deadlocks, Sets}},
	{name: "ByATransfer", run: cycleByTransfer, needs: []Capability{Deadlocks, Transfer}},
	{name: "ByALaterGrant", run: cycleByGrant, needs: []Capability{Deadlocks, Sets}},
	{name: "WithoutSequenceNone", run: cycleWithoutSequence, needs: []Capability{Deadlocks}},
	{name: "TheAbsentMakeNoEdge", run: absentMakeNoEdge, needs: []Capability{Deadlocks, KeptPlaces}},
	{name: "NoFalseAlarm", run: noFalseAlarm, needs: []Capability{Deadlocks, Sets}},
	{name: "AcquireIsJustRefused", run: cycleOfAcquire, needs: []Capability{Deadlocks}},
}

// sequence says that the holder does nothing else while it waits.
func sequence(r leasehold.AcquireRequest) leasehold.AcquireRequest {
	r.Sequence = true
	return r
}

// edge is one of a cycle, for a name.
func edge(holder, name, heldBy string) leasehold.WaitEdge {
	return leasehold.WaitEdge{Holder: holder, Claim: leasehold.Claim{Pattern: name}, HeldBy: heldBy}
}

// cycle expects a refusal that shows just this cycle.
func (e *env) cycle(err error, want ...leasehold.WaitEdge) {
	e.Helper()
	if diff := cmp.Diff(want, e.reason("Wait", err, leasehold.ReasonDeadlock).Cycle); diff != "" {
		e.Errorf("Cycle differs (-want +got):\n%s", diff)
	}
}

// refusedAtOnce expects a wait to have ended before any time has passed.
func (w *waiter) refusedAtOnce() error {
	w.e.Helper()
	if w.e.h.Bubble {
		w.e.waitIdle()
		w.over()
	}
	return w.failed()
}

func cycleOfTwo(e *env) {
	x, y := e.acquire("x", "a"), e.acquire("y", "b") // what is held says nothing of sequences
	a := e.wait(sequence(e.request("y", "a")))
	e.cycle(e.wait(sequence(e.request("x", "b"))).refusedAtOnce(), edge("b", "x", "a"), edge("a", "y", "b"))
	a.still()
	e.held(x.Lease)
	e.held(y.Lease)
	if e.h.can(ShownQueue) {
		if n := len(e.status("x").Waiters); n != 0 {
			e.Errorf("%d waiters after the refusal, want none", n)
		}
	}
	e.release(y.Lease)
	a.atOnce()
	e.wait(sequence(e.request("x", "b"))).still() // a waits for nobody now
}

func cycleOfThree(e *env) {
	x := e.acquire("x", "a")
	e.acquire("y", "b")
	e.acquire("z", "c")
	e.wait(sequence(e.request("y", "a")))
	e.wait(sequence(e.request("z", "b")))
	e.wait(sequence(e.request("z", "bystander")))
	r := sequence(e.request("x", "c"))
	e.cycle(e.wait(r).refusedAtOnce(), edge("c", "x", "a"), edge("a", "y", "b"), edge("b", "z", "c"))
	e.release(x.Lease)
	e.wait(r).granted()
}

func cycleOfOne(e *env) {
	g := e.acquire("x", "a")
	e.cycle(e.wait(sequence(e.request("x", "a"))).refusedAtOnce(), edge("a", "x", "a"))
	e.held(g.Lease)
	if e.h.can(Sets) {
		e.cycle(e.wait(sequence(e.names("a", "y", "x"))).refusedAtOnce(), edge("a", "x", "a"))
		e.free("y")
	}
	e.wait(sequence(withID(e.request("x", "a"), g.ID))).granted() // a repetition waits for nobody
}

func cycleOfSets(e *env) {
	e.grant(e.claims("a", leasehold.Paths("ns", "src/**")...))
	e.grant(e.claims("b", shared(leasehold.Paths("ns", "docs/*"))...))
	first := e.wait(sequence(e.claims("a", leasehold.Paths("ns", "docs/x")...)))
	requested := leasehold.Claim{Namespace: "ns", Pattern: "src/main.go", Mode: leasehold.Shared}
	err := e.wait(sequence(e.claims("b", leasehold.Claim{Pattern: "plain"}, requested))).refusedAtOnce()
	e.cycle(err, leasehold.WaitEdge{Holder: "b", Claim: requested, HeldBy: "a"},
		leasehold.WaitEdge{Holder: "a", Claim: first.request.Claims[0], HeldBy: "b"})
	e.free("plain")
	first.still()
}

func twoUpgraders(e *env) {
	up := func(holder string) (leasehold.Grant, leasehold.AcquireRequest) {
		r := withID(sequence(e.sharing(holder, "x")), e.id())
		g := e.grant(r)
		r.Claims = leasehold.Resources("x")
		return g, r
	}
	_, first := up("a")
	g, second := up("b")
	a := e.wait(first)
	e.cycle(e.wait(second).refusedAtOnce(), edge("b", "x", "a"), edge("a", "x", "b"))
	if l := e.held(g.Lease); !slices.Equal(l.Claims, g.Claims) {
		e.Errorf("after the refusal b's lease covers %v, want %v", l.Claims, g.Claims)
	}
	e.release(g.Lease)
	a.atOnce()
}

// upgradeIsNoCycle has waiters that wait for the one who upgrades: it passes them.
func upgradeIsNoCycle(e *env) {
	r := withID(sequence(e.sharing("h", "x")), e.id())
	e.grant(r)
	other := e.grant(e.sharing("other", "x"))
	writer, set := e.wait(sequence(e.request("x", "writer"))), e.wait(sequence(e.names("set", "x", "y")))
	r.Claims = leasehold.Resources("x")
	e.oneByOne(other.Lease, e.wait(r), writer, set)
}

// cycleThroughReservation has a wait for what is free, but kept for one that waits
// for a.
func cycleThroughReservation(e *env) {
	y := e.acquire("y", "a")
	set := e.wait(sequence(e.names("set", "x", "y")))
	e.cycle(e.wait(sequence(e.request("x", "a"))).refusedAtOnce(), edge("a", "x", "set"), edge("set", "y", "a"))
	e.release(y.Lease)
	set.atOnce()
}

// cycleThroughSecond has one without a sequence first in the queue: who comes behind
// it waits for the second, too.
func cycleThroughSecond(e *env) {
	g := e.grant(e.sharing("a", "x"))
	e.acquire("y", "other")
	first, second := e.wait(e.request("x", "first")), e.wait(sequence(e.request("x", "second")))
	requested := leasehold.Claim{Pattern: "x", Mode: leasehold.Shared}
	err := e.wait(sequence(e.claims("a", leasehold.Claim{Pattern: "y"}, requested))).refusedAtOnce()
	e.cycle(err, leasehold.WaitEdge{Holder: "a", Claim: requested, HeldBy: "second"}, edge("second", "x", "a"))
	e.oneByOne(g.Lease, first, second)
}

func cycleByTransfer(e *env) {
	e.acquire("x", "a")
	y := e.acquire("y", "other")
	waits := e.wait(sequence(e.request("x", "b")))
	a := e.wait(sequence(e.request("y", "a")))
	_, err := e.transferErr(leasehold.TransferRequest{ID: y.ID, Resource: "y", To: "b", Proposed: e.id()})
	e.cycle(err, edge("b", "x", "a"), edge("a", "y", "b"))
	e.held(y.Lease)
	waits.still()
	a.still()
	e.transfer(y.Lease, "harmless", e.id())
}

// cycleByGrant has b wait for what a then acquires, which makes a cycle of the wait
// of a.
func cycleByGrant(e *env) {
	e.acquire("x", "b")
	z := e.acquire("z", "other")
	b, stuck := e.wait(e.soon(sequence(e.names("b", "y", "z")))), e.wait(sequence(e.request("x", "a")))
	e.outlive(e.short) // b keeps nothing free any more
	stuck.still()
	y := e.acquire("y", "a")
	e.cycle(stuck.refusedAtOnce(), edge("a", "x", "b"), edge("b", "y", "a"))
	b.still()
	e.release(y.Lease)
	e.release(z.Lease)
	b.atOnce()
}

func cycleWithoutSequence(e *env) {
	for _, c := range []struct {
		first, second func(leasehold.AcquireRequest) leasehold.AcquireRequest
	}{
		{plainly, plainly}, {sequence, plainly}, {plainly, sequence},
	} {
		x, y := e.grant(c.first(e.request("x", "a"))), e.grant(c.second(e.request("y", "b")))
		a, b := e.wait(c.first(e.request("y", "a"))), e.wait(c.second(e.request("x", "b")))
		a.still()
		b.still()
		e.release(x.Lease)
		e.release(b.atOnce().Lease)
		e.release(y.Lease)
		e.release(a.atOnce().Lease)
	}
}

func plainly(r leasehold.AcquireRequest) leasehold.AcquireRequest { return r }

func absentMakeNoEdge(e *env) {
	e.acquire("x", "a")
	e.acquire("y", "b")
	r := withID(sequence(e.request("y", "a")), e.id())
	e.wait(r).abandon()
	b := e.wait(sequence(e.request("x", "b")))
	b.still()
	e.cycle(e.wait(r).refusedAtOnce(), edge("a", "y", "b"), edge("b", "x", "a"))
	b.still()
}

// noFalseAlarm has many wait for one another in one direction, and readers, who do not
// wait for readers.
func noFalseAlarm(e *env) {
	var held []leasehold.Grant
	for i := range 10 {
		held = append(held, e.grant(e.claims(fmt.Sprint("h", i), leasehold.Claim{Pattern: fmt.Sprint("r", i)}, leasehold.Claim{Pattern: "all", Mode: leasehold.Shared})))
	}
	var queue []*waiter
	for i := range 9 {
		w := e.wait(sequence(e.names(fmt.Sprint("h", i), fmt.Sprint("r", i+1))))
		w.still()
		queue = append(queue, w)
	}
	e.wait(sequence(e.sharing("h9", "all"))).granted()
	e.wait(sequence(e.names("h9", "free"))).granted()
	for _, g := range slices.Backward(held) {
		e.release(g.Lease)
	}
	for _, w := range slices.Backward(queue) {
		e.release(w.granted().Lease)
	}
}

// cycleOfAcquire does not wait, so it cannot wait for ever.
func cycleOfAcquire(e *env) {
	e.acquire("x", "a")
	e.acquire("y", "b")
	e.wait(sequence(e.request("y", "a"))).still()
	e.refused(sequence(e.request("x", "b")), leasehold.ReasonHeld)
}
