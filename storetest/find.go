package storetest

import (
	"time"

	"github.com/leasehold/leasehold"
)

var findChecks = []check{
	{name: "Live", run: findLive, needs: []Capability{Finding}},
	{name: "Ended", run: findEnded, needs: []Capability{Finding, Memory}},
	{name: "Unknown", run: findUnknown, needs: []Capability{Finding}},
	{name: "AfterChange", run: findChanged, needs: []Capability{Finding, Changing}},
	{name: "AfterTransfer", run: findTransferred, needs: []Capability{Finding, Transfer}},
	{name: "RemembersForAnHour", run: findForAnHour, needs: []Capability{Finding, Memory, Cleanup}, simulated: true},
}

// found expects an id to lead to its lease.
func (e *env) found(l leasehold.Lease, want leasehold.State) leasehold.Lease {
	e.Helper()
	got, err := power[leasehold.Finder](e).Find(e.Context(), l.ID)
	if err != nil {
		e.Fatalf("Find(lease on %q) = %v, want it", l.Resource, err)
	}
	e.sane("Find", got)
	if got.ID != l.ID || got.Resource != l.Resource || got.Token != l.Token || got.State != want {
		e.Errorf("Find = %v lease on %q with token %d; want the %v one on %q with token %d and its id",
			got.State, got.Resource, got.Token, want, l.Resource, l.Token)
	}
	return got
}

func (e *env) notFound(what string, id leasehold.ID) {
	e.Helper()
	_, err := power[leasehold.Finder](e).Find(e.Context(), id)
	e.reason("Find of "+what, err, leasehold.ReasonNotFound)
}

func findLive(e *env) {
	r := e.request("r", "h")
	r.Metadata = map[string]string{"k": "v"}
	g := e.grant(r)
	if l := e.found(g.Lease, leasehold.StateActive); l.Metadata["k"] != "v" || l.Holder != "h" || !e.about(l.Remaining, e.long) {
		e.Errorf("Find = %+v, want all of the lease", l)
	}
	if e.h.can(Breaking) {
		e.breakIn("r", 10*time.Second)
		e.found(g.Lease, leasehold.StateBreaking)
	}
}

func findEnded(e *env) {
	released := e.acquire("released", "h")
	e.release(released.Lease)
	e.found(released.Lease, leasehold.StateReleased)
	expired := e.grant(e.brief("expired", "h"))
	e.outlive(e.short)
	e.found(expired.Lease, leasehold.StateExpired)
	e.acquire("released", "next")
	e.notFound("the lease before the last", released.ID)
}

func findUnknown(e *env) {
	e.acquire("r", "h")
	e.notFound("an unknown id", e.id())
}

func findChanged(e *env) {
	g := e.acquire("r", "h")
	changed := e.change(g.Lease, e.id())
	e.found(changed, leasehold.StateActive)
	e.notFound("the id before a change", g.ID)
}

func findTransferred(e *env) {
	g := e.acquire("r", "h")
	next := e.transfer(g.Lease, "new", e.id())
	e.found(next, leasehold.StateActive)
	e.notFound("the id before a transfer", g.ID)
}

func findForAnHour(e *env) {
	g := e.acquire("r", "h")
	e.release(g.Lease)
	for _, step := range []time.Duration{30 * time.Minute, 29 * time.Minute} {
		e.pass(step)
		e.cleanup()
		e.found(g.Lease, leasehold.StateReleased)
		e.ended(g.Lease, leasehold.StateReleased)
	}
	e.pass(2 * time.Minute)
	e.cleanup()
	e.notFound("a lease that ended more than an hour ago", g.ID)
	if s := e.status("r"); s.Lease != nil {
		e.Errorf("Status = %s more than an hour after the end, want available", tell(s))
	}
	if next := e.acquire("r", "h"); next.Token <= g.Token {
		e.Errorf("token %d after the row was forgotten, want above %d", next.Token, g.Token)
	}
}
