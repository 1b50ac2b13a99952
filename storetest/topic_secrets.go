package storetest

import (
	"fmt"
	"time"

	"github.com/leasehold/leasehold"
)

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
