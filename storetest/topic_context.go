package storetest

import (
	"context"
	"errors"
	"time"

	"github.com/leasehold/leasehold"
)

var contextChecks = []check{
	{name: "AlreadyCancelledAcquire", run: cancelledAcquire},
	{name: "AlreadyCancelledWait", run: cancelledWait, needs: []Capability{Waiting}},
	{name: "AlreadyCancelledRenew", run: cancelledRenew},
	{name: "AlreadyCancelledRelease", run: cancelledRelease},
	{name: "CancelledWaitLeavesNoLease", run: cancelledWaitLeavesNothing, needs: []Capability{Waiting}},
	{name: "UnreceivedGrantIsReleased", run: unreceivedGrant, needs: []Capability{Waiting}},
	{name: "UnreceivedGrantIsKeptForItsID", run: unreceivedGrantWithID, needs: []Capability{Waiting, UniqueIDs, Memory}},
	{name: "AGrantOutlivesItsContext", run: grantOutlivesContext},
}

// contextEnded expects the error of a call whose context had ended. It wraps the
// cause.
func (e *env) contextEnded(call string, err error) {
	e.Helper()
	if !errors.Is(err, context.Canceled) {
		e.Fatalf("%s with a cancelled context = %v, want it to wrap context.Canceled", call, err)
	}
	e.reason(call, err, leasehold.ReasonUnknown, leasehold.ReasonUnavailable, leasehold.ReasonCancelled)
}

func cancelledAcquire(e *env) {
	_, err := e.store.Acquire(e.cancelled(), e.request("r", "h"))
	e.contextEnded("Acquire", err)
	e.eventually("nobody holds it", func() bool { return !e.status("r").Locked() })
	g := e.acquire("r", "h")
	_, err = e.store.Acquire(e.cancelled(), e.request("r", "other"))
	if err == nil {
		e.Error("Acquire of a held resource = success")
	}
	e.held(g.Lease)
}

func cancelledWait(e *env) {
	start := time.Now()
	_, err := power[leasehold.Waiter](e).Wait(e.cancelled(), e.request("r", "h"))
	e.contextEnded("Wait", err)
	e.eventually("nobody holds it", func() bool { return !e.status("r").Locked() })
	e.acquire("r", "h")
	_, err = power[leasehold.Waiter](e).Wait(e.cancelled(), e.request("r", "w"))
	e.contextEnded("Wait", err)
	if took := time.Since(start); took > e.atMost(2*e.moments()) {
		e.Errorf("Wait with a cancelled context took %v", took)
	}
}

// cancelledRenew may come out either way, but must say which.
func cancelledRenew(e *env) {
	g := e.acquire("r", "h")
	_, err := e.store.Renew(e.cancelled(), leasehold.RenewRequest{ID: g.ID, Resource: "r"})
	renewals := e.held(g.Lease).Renewals
	switch {
	case err == nil && renewals != 1:
		e.Errorf("Renew = success with %d renewals", renewals)
	case err != nil:
		e.contextEnded("Renew", err)
		if !errors.Is(err, leasehold.ErrUnknown) && renewals != 0 {
			e.Errorf("Renew = %v, but the lease was renewed", err)
		}
	}
}

func cancelledRelease(e *env) {
	g := e.acquire("r", "h")
	_, err := e.store.Release(e.cancelled(), leasehold.ReleaseRequest{ID: g.ID, Resource: "r"})
	locked := e.status("r").Locked()
	switch {
	case err == nil && locked:
		e.Error("Release = success, but the lease is there")
	case err != nil:
		e.contextEnded("Release", err)
		if !errors.Is(err, leasehold.ErrUnknown) && !locked {
			e.Errorf("Release = %v, but the lease is gone", err)
		}
	}
}

func cancelledWaitLeavesNothing(e *env) {
	g := e.acquire("r", "h")
	for range 5 {
		e.wait(e.request("r", "w")).abandon()
	}
	e.release(g.Lease)
	e.waitIdle()
	e.free("r")
}

// race cancels a wait and releases what it waits for in the same moment: one
// just before the other, or both at once. Either may win.
func (e *env) race(r leasehold.AcquireRequest, turn int) *waiter {
	e.Helper()
	g := e.grantSoon(e.request(r.Resource, "h"))
	w := e.wait(r)
	release := func() {
		if err := e.releaseErr(g.Lease); err != nil {
			e.Errorf("Release(%q) = %v, want success", g.Resource, err)
		}
	}
	switch turn % 3 {
	case 0:
		release()
		w.cancel(nil)
	case 1:
		w.cancel(nil)
		release()
	default:
		concurrently(2, func(i int) {
			if i == 0 {
				release()
			} else {
				w.cancel(nil)
			}
		})
	}
	w.answered()
	return w
}

func unreceivedGrant(e *env) {
	received := 0
	for i := range 120 {
		w := e.race(e.request("r", "w"), i)
		if w.err == nil {
			e.release(w.granted().Lease)
			received++
			continue
		}
		e.eventually("the grant is released", func() bool { return !e.status("r").Locked() })
	}
	if !e.h.can(History) {
		return
	}
	whys := map[string]int{}
	for _, r := range readHistory(e.TB, e.store, leasehold.HistoryRequest{Holder: "w", Kind: leasehold.KindReleased}) {
		whys[r.Why]++
	}
	if abandoned := whys["abandoned"]; whys[""] != received || len(whys) > 2 || len(whys) == 2 && abandoned == 0 {
		e.Errorf("releases of the waiter by reason = %v, want %d without and the others abandoned", whys, received)
	}
}

// unreceivedGrantWithID repeats the request with the same id, as a client does
// that lost the answer, and must get the lease: the old grant or a new one.
func unreceivedGrantWithID(e *env) {
	for i := range 120 {
		r := withID(e.request("r", "w"), e.id())
		w := e.race(r, i)
		g := w.grant
		if w.err != nil {
			g = e.grant(r)
		}
		e.release(g.Lease)
	}
}

func grantOutlivesContext(e *env) {
	ctx, cancel := context.WithCancel(e.Context())
	g, err := e.store.Acquire(ctx, e.request("r", "h"))
	if err != nil {
		e.Fatalf("Acquire = %v, want a grant", err)
	}
	e.learn(g.ID)
	cancel()
	e.pass(e.short / 4)
	e.waitIdle()
	e.held(g.Lease)
	e.renew(g.Lease)
}

var closeChecks = []check{
	{name: "CallsAfterwardsAreUnavailable", run: callsAfterClose},
	{name: "EndsWaiters", run: closeEndsWaiters, needs: []Capability{Waiting}},
	{name: "TwiceDoesNoHarm", run: closeTwice},
}

// closeStore closes the store; then there is no audit.
func (e *env) closeStore() {
	e.Helper()
	e.closed = true
	if err := e.store.Close(); err != nil {
		e.Fatalf("Close = %v, want success", err)
	}
}

func callsAfterClose(e *env) {
	ctx := e.Context()
	g := e.acquire("r", "h")
	e.closeStore()
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
	e.closeStore()
	for _, w := range []*waiter{plain, named} {
		if err := w.failed(); !errors.Is(err, leasehold.ErrUnavailable) {
			e.Errorf("Wait while the store closes = %v, want ErrUnavailable", err)
		}
	}
}

func closeTwice(e *env) {
	e.closeStore()
	_ = e.store.Close() // an error is fine, a panic is not
}
