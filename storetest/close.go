package storetest

import (
	"errors"

	"github.com/leasehold/leasehold"
)

var closeChecks = []check{
	{name: "CallsAfterwardsAreUnavailable", run: callsAfterClose},
	{name: "EndsWaiters", run: closeEndsWaiters, needs: []Capability{Waiting}},
	{name: "TwiceDoesNoHarm", run: closeTwice},
}

// shut closes the store, and with it the check's audit.
func (e *env) shut() {
	e.Helper()
	e.closed = true
	if err := e.store.Close(); err != nil {
		e.Fatalf("Close = %v, want success", err)
	}
}

func callsAfterClose(e *env) {
	ctx := e.Context()
	g := e.acquire("r", "h")
	e.shut()
	_, acquire := e.store.Acquire(ctx, e.request("other", "h"))
	_, renew := e.store.Renew(ctx, leasehold.RenewRequest{ID: g.ID, Resource: "r"})
	_, release := e.store.Release(ctx, leasehold.ReleaseRequest{ID: g.ID, Resource: "r"})
	_, status := e.store.Status(ctx, "r")
	for call, err := range map[string]error{"Acquire": acquire, "Renew": renew, "Release": release, "Status": status} {
		e.reason(call+" after Close", err, leasehold.ReasonUnavailable)
	}
}

func closeEndsWaiters(e *env) {
	e.acquire("r", "h")
	plain := e.wait(e.request("r", "plain"))
	named := e.wait(withID(e.request("r", "named"), e.id()))
	e.shut()
	for _, w := range []*waiter{plain, named} {
		if err := w.failed(); !errors.Is(err, leasehold.ErrUnavailable) {
			e.Errorf("Wait while the store closes = %v, want ErrUnavailable", err)
		}
	}
}

func closeTwice(e *env) {
	e.shut()
	_ = e.store.Close() // an error is fine, a panic is not
}
