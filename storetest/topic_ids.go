package storetest

import (
	"fmt"
	"time"

	"github.com/leasehold/leasehold"
)

var idChecks = []check{
	{name: "LiveElsewhereIsInUse", run: idInUse, needs: []Capability{UniqueIDs}},
	{name: "EndedIsSpent", run: idSpent, needs: []Capability{Memory}},
	{name: "EndedElsewhereIsSpent", run: idSpentElsewhere, needs: []Capability{Memory, UniqueIDs}},
	{name: "ExpiredIsSpent", run: idExpired, needs: []Capability{Memory}},
	{name: "BrokenIsSpent", run: idBroken, needs: []Capability{Memory, Breaking}},
	{name: "SpentAlsoForWaiting", run: idSpentForWait, needs: []Capability{Memory, UniqueIDs, Waiting}},
	{name: "ForgottenAfterTheNextGrant", run: idForgotten},
	{name: "FormerAfterChange", run: idFormerChanged, needs: []Capability{UniqueIDs, Memory, Changing}},
	{name: "FormerAfterTransfer", run: idFormerTransferred, needs: []Capability{UniqueIDs, Memory, Transfer}},
	{name: "WaitingIsNotYetALease", run: idWaiting, needs: []Capability{Waiting, UniqueIDs}},
	{name: "WaitingTwiceIsOneLease", run: idWaitingTwice, needs: []Capability{Waiting, UniqueIDs}},
	{name: "TakenWhileWaiting", run: idTakenWhileWaiting, needs: []Capability{Waiting, UniqueIDs}},
	{name: "ResourceMayBeLeftOut", run: idAlone, needs: []Capability{Finding}},
}

func withID(r leasehold.AcquireRequest, id leasehold.ID) leasehold.AcquireRequest {
	r.ID = id
	return r
}

func idInUse(e *env) {
	g := e.acquire("a", "h")
	e.refused(withID(e.request("b", "h"), g.ID), leasehold.ReasonIDInUse)
	e.refused(withID(e.request("b", "other"), g.ID), leasehold.ReasonIDInUse)
	e.free("b")
	if l := e.held(g.Lease); l.Renewals != 0 {
		e.Error("proposing the id elsewhere renewed the lease")
	}
}

func idSpent(e *env) {
	g := e.acquire("r", "h")
	e.release(g.Lease)
	e.refused(withID(e.request("r", "h"), g.ID), leasehold.ReasonReleased)
	e.ended(g.Lease, leasehold.StateReleased)
}

func idSpentElsewhere(e *env) {
	g := e.acquire("a", "h")
	e.release(g.Lease)
	e.refused(withID(e.request("b", "h"), g.ID), leasehold.ReasonReleased)
	e.free("b")
}

func idExpired(e *env) {
	g := e.grant(e.brief("r", "h"))
	e.outlive(e.short)
	e.refused(withID(e.request("r", "h"), g.ID), leasehold.ReasonExpired)
	if e.h.can(UniqueIDs) {
		e.refused(withID(e.request("b", "h"), g.ID), leasehold.ReasonExpired)
	}
	e.ended(g.Lease, leasehold.StateExpired)
}

func idBroken(e *env) {
	g := e.acquire("r", "h")
	e.breakIn("r", 0)
	e.refused(withID(e.request("r", "h"), g.ID), leasehold.ReasonBroken)
	e.ended(g.Lease, leasehold.StateBroken)
}

func idSpentForWait(e *env) {
	live, ended := e.acquire("live", "h"), e.acquire("ended", "h")
	e.release(ended.Lease)
	e.acquire("busy", "h")
	e.reason("Wait with an id in use", e.wait(withID(e.request("busy", "w"), live.ID)).failed(), leasehold.ReasonIDInUse)
	e.reason("Wait with an ended id", e.wait(withID(e.request("busy", "w"), ended.ID)).failed(), leasehold.ReasonReleased)
}

func idForgotten(e *env) {
	old := e.acquire("r", "h")
	e.release(old.Lease)
	next := e.acquire("r", "other")
	e.reason("Renew with the id before", e.renewErr(old.Lease), leasehold.ReasonNotFound)
	e.reason("Release with the id before", e.releaseErr(old.Lease), leasehold.ReasonNotFound)
	e.refused(withID(e.request("r", "h"), old.ID), leasehold.ReasonHeld)
	e.held(next.Lease)
}

func idFormerChanged(e *env) {
	g := e.acquire("a", "h")
	changed := e.change(g.Lease, e.id())
	e.refused(withID(e.request("b", "h"), g.ID), leasehold.ReasonReleased)
	e.refused(withID(e.request("b", "h"), changed.ID), leasehold.ReasonIDInUse)
	e.free("b")
	e.again(e.request("a", "h"), leasehold.Grant{Lease: changed})
}

func idFormerTransferred(e *env) {
	g := e.acquire("a", "h")
	next := e.transfer(g.Lease, "new", e.id())
	e.refused(withID(e.request("b", "h"), g.ID), leasehold.ReasonReleased)
	e.refused(withID(e.request("a", "h"), g.ID), leasehold.ReasonReleased)
	e.again(e.request("a", "new"), leasehold.Grant{Lease: next})
}

// idWaiting: the id of a waiter is good for nothing until the grant.
func idWaiting(e *env) {
	g := e.acquire("r", "h")
	id := e.id()
	w := e.wait(withID(e.request("r", "w"), id))
	pending := leasehold.Lease{ID: id, Resource: "r"}
	e.reason("Renew with a waiter's id", e.renewErr(pending), leasehold.ReasonNotFound)
	e.reason("Release with a waiter's id", e.releaseErr(pending), leasehold.ReasonNotFound)
	if e.h.can(Finding) {
		e.notFound("a waiter's id", id)
	}
	e.refused(withID(e.request("r", "w"), id), leasehold.ReasonHeld)
	w.still()
	e.release(g.Lease)
	e.renew(w.atOnce().Lease)
}

// live counts the resources on which an id has a live lease.
func (e *env) live(id leasehold.ID, resources ...string) int {
	e.Helper()
	n := 0
	for _, r := range resources {
		if e.renewErr(leasehold.Lease{ID: id, Resource: r}) == nil {
			n++
		}
	}
	return n
}

// idWaitingTwice waits with one id in two places and gets at most one lease.
func idWaitingTwice(e *env) {
	a, b := e.acquire("a", "h"), e.acquire("b", "h")
	id := e.id()
	wa := e.wait(withID(e.request("a", "w"), id))
	wb := e.start(withID(e.request("b", "w"), id))
	e.waitIdle()
	e.release(a.Lease)
	e.release(b.Lease)
	e.waitIdle()
	wa.answered()
	wb.answered()
	if n := e.live(id, "a", "b"); n != 1 {
		e.Errorf("an id that waited in two queues is live on %d resources, want 1", n)
	}
}

// idTakenWhileWaiting starts a lease elsewhere with the id of a waiter.
func idTakenWhileWaiting(e *env) {
	g := e.acquire("r", "h")
	id := e.id()
	w := e.wait(withID(e.request("r", "w"), id))
	_, err := e.store.Acquire(e.Context(), withID(e.request("other", "w"), id))
	if err != nil {
		e.reason("Acquire with a waiter's id", err, leasehold.ReasonIDInUse)
	}
	e.release(g.Lease)
	e.waitIdle()
	w.answered()
	if n := e.live(id, "r", "other"); n != 1 {
		e.Errorf("an id that waited and was taken is live on %d resources, want 1", n)
	}
}

// idAlone leaves the resource out of every call that may.
func idAlone(e *env) {
	ctx := e.Context()
	g := e.acquire("r", "h")
	if l, err := e.store.Renew(ctx, leasehold.RenewRequest{ID: g.ID}); err != nil || l.Resource != "r" {
		e.Fatalf("Renew by id alone = %q, %v; want success", l.Resource, err)
	}
	if e.h.can(Changing) {
		to := e.id()
		if _, err := e.changeErr(leasehold.ChangeRequest{ID: g.ID, Proposed: to}); err != nil {
			e.Fatalf("Change by id alone = %v, want success", err)
		}
		g.ID = to
	}
	if e.h.can(Transfer) {
		l, err := e.transferErr(leasehold.TransferRequest{ID: g.ID, To: "new"})
		if err != nil {
			e.Fatalf("Transfer by id alone = %v, want success", err)
		}
		old := g.ID
		g.Lease = l
		_, err = e.store.Renew(ctx, leasehold.RenewRequest{ID: old})
		e.reason("Renew by the old id alone", err, leasehold.ReasonReleased)
	}
	if l, err := e.store.Release(ctx, leasehold.ReleaseRequest{ID: g.ID}); err != nil || l.Resource != "r" {
		e.Fatalf("Release by id alone = %q, %v; want success", l.Resource, err)
	}
	_, err := e.store.Release(ctx, leasehold.ReleaseRequest{ID: g.ID})
	e.reason("Release by an ended id alone", err, e.lost(leasehold.ReasonReleased)...)
	_, err = e.store.Renew(ctx, leasehold.RenewRequest{ID: e.id()})
	e.reason("Renew by an unknown id alone", err, leasehold.ReasonNotFound)
}

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
		e.Errorf("Status = %s more than an hour after the end, want available", describeStatus(s))
	}
	if next := e.acquire("r", "h"); next.Token <= g.Token {
		e.Errorf("token %d after the row was forgotten, want above %d", next.Token, g.Token)
	}
}

// Every check looks for ids in errors, statuses, lists and history. Here all of
// that comes together, with ids of others.
var secretChecks = []check{
	{name: "NoAnswerGivesAnIDAway", run: noAnswerGivesAway},
	{name: "ErrorsDoNotRepeatTheIDShown", run: errorsDoNotRepeat},
	{name: "QueueShowsNoIDs", run: queueShowsNoIDs, needs: []Capability{KeptPlaces, ShownQueue}},
	{name: "OperatorsSeeNoIDs", run: operatorsSeeNone, needs: []Capability{Breaking}},
	{name: "TransferHidesTheProposedID", run: transferHides, needs: []Capability{Transfer}},
}

func noAnswerGivesAway(e *env) {
	r := withID(e.request("r", "h"), e.id())
	g := e.grant(r)
	e.refused(e.request("r", "other"), leasehold.ReasonHeld)
	e.secret("Status", fmt.Sprintf("%+v", e.held(g.Lease)))
	if e.h.can(Listing) {
		e.secret("List", fmt.Sprintf("%+v", e.list(leasehold.ListRequest{})))
	}
	e.release(g.Lease)
	if e.h.can(Listing) && e.h.can(Memory) {
		ended := e.list(leasehold.ListRequest{States: []leasehold.State{leasehold.StateReleased}})
		e.secret("List", fmt.Sprintf("%+v", ended))
	}
}

func errorsDoNotRepeat(e *env) {
	g := e.acquire("r", "h")
	wrong := leasehold.Lease{ID: e.id(), Resource: "r"}
	e.reason("Renew", e.renewErr(wrong), leasehold.ReasonNotFound)
	e.reason("Release", e.releaseErr(wrong), leasehold.ReasonNotFound)
	_, err := e.store.Renew(e.Context(), leasehold.RenewRequest{ID: g.ID, Resource: "r", Holder: "x"})
	e.reason("Renew", err, leasehold.ReasonHolderMismatch)
	e.release(g.Lease)
	e.reason("Renew", e.renewErr(g.Lease), e.lost(leasehold.ReasonReleased)...)
	if e.h.can(UniqueIDs) {
		live := e.acquire("live", "h")
		err := e.refused(withID(e.request("elsewhere", "spy"), live.ID), leasehold.ReasonIDInUse)
		if err.Current != nil && !err.Current.ID.IsZero() {
			e.Error("ErrHeld for an id in use carries the id")
		}
	}
}

func queueShowsNoIDs(e *env) {
	e.acquire("r", "h")
	e.wait(e.place("w"))
	away := e.wait(e.place("away"))
	away.abandon()
	e.secret("Status", fmt.Sprintf("%+v", e.status("r")))
}

func operatorsSeeNone(e *env) {
	g := e.acquire("r", "h")
	if l := e.breakIn("r", 10*time.Second); !l.ID.IsZero() {
		e.Error("Break carries the id")
	}
	e.refused(e.request("r", "other"), leasehold.ReasonBreaking)
	e.release(g.Lease)
}

func transferHides(e *env) {
	g := e.acquire("r", "h")
	proposed := e.id()
	next := e.transfer(g.Lease, "new", proposed) // expects the id not to be echoed
	e.secret("Transfer", fmt.Sprintf("%+v", next))
	e.reason("Renew", e.renewErr(g.Lease), leasehold.ReasonReleased)
}
