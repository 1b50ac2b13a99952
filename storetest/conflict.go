package storetest

import (
	"time"

	"github.com/leasehold/leasehold"
)

var conflictChecks = []check{
	{name: "SaysWhoHolds", run: saysWhoHolds},
	{name: "SaysHowManyWait", run: saysHowManyWait, needs: []Capability{ShownQueue}},
	{name: "ChangesNothing", run: conflictChangesNothing},
	{name: "SameHolderIsAConflictToo", run: sameHolderConflicts},
	{name: "RemainingGoesDown", run: remainingGoesDown},
}

func saysWhoHolds(e *env) {
	r := e.request("r", "holder")
	r.Metadata = map[string]string{"k": "v"}
	g := e.grant(r)
	err := e.refused(e.request("r", "other"), leasehold.ReasonHeld)
	c := err.Current
	if c.Holder != "holder" || c.Token != g.Token || c.State != leasehold.StateActive || c.Resource != "r" || c.Metadata["k"] != "v" {
		e.Errorf("Current = %+v, want the lease of %q with token %d", *c, "holder", g.Token)
	}
	if !e.about(c.Remaining, e.long) || c.AcquiredAt.IsZero() {
		e.Errorf("Current: since %v, %v remaining; want %v", c.AcquiredAt, c.Remaining, e.long)
	}
	if err.RetryAfter < 0 || err.RetryAfter > c.Remaining {
		e.Errorf("RetryAfter = %v, want at most what remains, %v", err.RetryAfter, c.Remaining)
	}
	if err.Waiting != 0 {
		e.Errorf("Waiting = %d, want 0", err.Waiting)
	}
}

func saysHowManyWait(e *env) {
	g := e.acquire("r", "holder")
	for i, holder := range []string{"a", "b", "c"} {
		e.wait(e.request("r", holder))
		if err := e.refused(e.request("r", "other"), leasehold.ReasonHeld); err.Waiting != i+1 {
			e.Errorf("ErrHeld with %d waiters: Waiting = %d", i+1, err.Waiting)
		}
	}
	e.held(g.Lease)
}

func conflictChangesNothing(e *env) {
	g := e.acquire("r", "holder")
	for range 5 {
		r := e.request("r", "other")
		r.Metadata = map[string]string{"mine": "now"}
		r.ID = e.id()
		e.refused(r, leasehold.ReasonHeld)
	}
	l := e.held(g.Lease)
	if l.Renewals != 0 || len(l.Metadata) != 0 || l.TTL != e.long {
		e.Errorf("after refusals the lease is %+v, want it as granted", l)
	}
	e.renew(g.Lease)
	if e.h.can(History) {
		e.kinds("r", leasehold.KindAcquired, leasehold.KindRenewed)
	}
}

func sameHolderConflicts(e *env) {
	g := e.acquire("r", "h")
	e.refused(e.request("r", "h"), leasehold.ReasonHeld)
	e.held(g.Lease)
}

func remainingGoesDown(e *env) {
	r := e.brief("r", "holder")
	g := e.grant(r)
	step := e.short / 4
	e.pass(step)
	err := e.refused(e.request("r", "other"), leasehold.ReasonHeld)
	if !e.about(err.Current.Remaining, e.short-step) {
		e.Errorf("Current.Remaining after %v of %v = %v", step, e.short, err.Current.Remaining)
	}
	if l := e.held(g.Lease); !e.about(l.Remaining, e.short-step) {
		e.Errorf("Status.Remaining after %v of %v = %v", step, e.short, l.Remaining)
	}
	if e.h.Bubble {
		e.pass(e.short - step - time.Nanosecond)
		e.refused(e.request("r", "other"), leasehold.ReasonHeld)
	}
}
