package storetest

import (
	"time"

	"github.com/leasehold/leasehold"
)

var changeChecks = []check{
	{name: "SwapsTheID", run: changeSwaps, needs: []Capability{Changing}},
	{name: "CanBeRepeated", run: changeRepeated, needs: []Capability{Changing}},
	{name: "ToItself", run: changeToItself, needs: []Capability{Changing}},
	{name: "MustMatch", run: changeMustMatch, needs: []Capability{Changing}},
	{name: "UnknownIDIsNotFound", run: changeUnknown, needs: []Capability{Changing}},
	{name: "WhileBreakingIsRefused", run: changeBreaking, needs: []Capability{Changing, Breaking}},
	{name: "ToAnIDInUse", run: changeToUsed, needs: []Capability{Changing, UniqueIDs}},
	{name: "IsRecorded", run: changeRecorded, needs: []Capability{Changing, History}},
}

func (e *env) changeErr(r leasehold.ChangeRequest) (leasehold.Lease, error) {
	e.learn(r.Proposed)
	return power[leasehold.Changer](e).Change(e.Context(), r)
}

// change swaps the id for a new one, or ends the check.
func (e *env) change(l leasehold.Lease, to leasehold.ID) leasehold.Lease {
	e.Helper()
	changed, err := e.changeErr(leasehold.ChangeRequest{ID: l.ID, Resource: l.Resource, Proposed: to})
	if err != nil {
		e.Fatalf("Change(%q) = %v, want success", l.Resource, err)
	}
	e.sane("change", changed)
	if changed.ID != to || changed.Token != l.Token || changed.Holder != l.Holder || changed.State != leasehold.StateActive {
		e.Errorf("Change(%q) = %+v, want the same active lease under the new id", l.Resource, changed)
	}
	return changed
}

func changeSwaps(e *env) {
	g := e.grant(e.brief("r", "h"))
	e.pass(e.short / 4)
	changed := e.change(g.Lease, e.id())
	if rest := e.short - e.short/4; !e.about(changed.Remaining, rest) || changed.Renewals != 0 {
		e.Errorf("Change left %v remaining and %d renewals, want %v and 0", changed.Remaining, changed.Renewals, rest)
	}
	e.reason("Renew with the old id", e.renewErr(g.Lease), leasehold.ReasonNotFound)
	e.reason("Release with the old id", e.releaseErr(g.Lease), leasehold.ReasonNotFound)
	e.held(g.Lease)
	e.renew(changed)
	e.release(changed)
}

func changeRepeated(e *env) {
	g := e.acquire("r", "h")
	to := e.id()
	changed := e.change(g.Lease, to)
	e.change(g.Lease, to) // as after a lost answer
	if _, err := e.changeErr(leasehold.ChangeRequest{ID: g.ID, Resource: "r", Proposed: e.id()}); err == nil {
		e.Error("Change from the old id to yet another = success")
	}
	e.renew(changed)
	if e.h.can(History) {
		e.kinds("r", leasehold.KindAcquired, leasehold.KindChanged, leasehold.KindRenewed)
	}
}

func changeToItself(e *env) {
	g := e.acquire("r", "h")
	e.change(g.Lease, g.ID)
	e.renew(g.Lease)
}

func changeMustMatch(e *env) {
	e.release(e.acquire("r", "before").Lease)
	g := e.acquire("r", "h")
	for _, m := range mismatches(g.Lease) {
		_, err := e.changeErr(leasehold.ChangeRequest{ID: g.ID, Resource: m.resource, Proposed: e.id(), Holder: m.holder, Token: m.token})
		e.reason("Change with a wrong "+m.what, err, m.want)
		e.renew(g.Lease)
	}
}

func changeUnknown(e *env) {
	g := e.acquire("r", "h")
	for _, resource := range []string{"r", "nowhere"} {
		_, err := e.changeErr(leasehold.ChangeRequest{ID: e.id(), Resource: resource, Proposed: e.id()})
		e.reason("Change with a wrong id", err, leasehold.ReasonNotFound)
	}
	e.renew(g.Lease)
}

func changeBreaking(e *env) {
	g := e.acquire("r", "h")
	e.breakIn("r", 10*time.Second)
	_, err := e.changeErr(leasehold.ChangeRequest{ID: g.ID, Resource: "r", Proposed: e.id()})
	e.reason("Change while breaking", err, leasehold.ReasonBreaking)
	e.release(g.Lease)
	_, err = e.changeErr(leasehold.ChangeRequest{ID: g.ID, Resource: "r", Proposed: e.id()})
	e.reason("Change after release", err, e.lost(leasehold.ReasonReleased)...)
}

func changeToUsed(e *env) {
	a, b := e.acquire("a", "h"), e.acquire("b", "h")
	_, err := e.changeErr(leasehold.ChangeRequest{ID: a.ID, Resource: "a", Proposed: b.ID})
	e.reason("Change to an id in use", err, leasehold.ReasonIDInUse)
	e.renew(a.Lease)
	e.renew(b.Lease)
	if e.h.can(Memory) {
		e.release(b.Lease)
		_, err = e.changeErr(leasehold.ChangeRequest{ID: a.ID, Resource: "a", Proposed: b.ID})
		e.reason("Change to an ended id", err, leasehold.ReasonReleased)
	}
}

func changeRecorded(e *env) {
	g := e.acquire("r", "h")
	e.change(g.Lease, e.id())
	r := e.kinds("r", leasehold.KindAcquired, leasehold.KindChanged)[1]
	if r.Before != leasehold.StateActive || r.After != leasehold.StateActive || r.Token != g.Token || r.Holder != "h" {
		e.Errorf("record of the change = %+v", r)
	}
}
