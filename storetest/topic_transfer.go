package storetest

import (
	"maps"
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

var transferChecks = []check{
	{name: "ToProposedID", run: transferProposed, needs: []Capability{Transfer}},
	{name: "MakesAnID", run: transferMakesID, needs: []Capability{Transfer}},
	{name: "CarriesOn", run: transferCarriesOn, needs: []Capability{Transfer}},
	{name: "Metadata", run: transferMetadata, needs: []Capability{Transfer}},
	{name: "OldIDIsReleased", run: transferEndsOldID, needs: []Capability{Transfer}},
	{name: "CanBeRepeated", run: transferRepeated, needs: []Capability{Transfer}},
	{name: "ToTheSameHolder", run: transferToSame, needs: []Capability{Transfer}},
	{name: "MustMatch", run: transferMustMatch, needs: []Capability{Transfer}},
	{name: "UnknownIDIsNotFound", run: transferUnknown, needs: []Capability{Transfer}},
	{name: "WhileBreakingIsRefused", run: transferBreaking, needs: []Capability{Transfer, Breaking}},
	{name: "ToAnIDInUse", run: transferToUsed, needs: []Capability{Transfer, UniqueIDs}},
	{name: "WaitersKeepWaiting", run: transferWaiters, needs: []Capability{Transfer, Waiting}},
	{name: "IsRecorded", run: transferRecorded, needs: []Capability{Transfer, History}},
}

func (e *env) transferErr(r leasehold.TransferRequest) (leasehold.Lease, error) {
	e.learn(r.Proposed)
	l, err := power[leasehold.Transferer](e).Transfer(e.Context(), r)
	e.learn(l.ID)
	return l, err
}

// transfer transfers a lease, or ends the check. The answer has the new id.
func (e *env) transfer(l leasehold.Lease, to string, proposed leasehold.ID) leasehold.Lease {
	e.Helper()
	next, err := e.transferErr(leasehold.TransferRequest{ID: l.ID, Resource: l.Resource, To: to, Proposed: proposed})
	if err != nil {
		e.Fatalf("Transfer(%q) to %q = %v, want success", l.Resource, to, err)
	}
	e.sane("transfer", next)
	switch {
	case proposed.IsZero() && (next.ID.IsZero() || next.ID == l.ID):
		e.Errorf("Transfer(%q) without a proposed id carries no new one", l.Resource)
	case !proposed.IsZero() && !next.ID.IsZero():
		e.Errorf("Transfer(%q) echoes the id that the new holder proposed", l.Resource)
	case next.Holder != to || next.Token <= l.Token || next.State != leasehold.StateActive:
		e.Errorf("Transfer(%q) = %+v, want an active lease of %q with a token above %d", l.Resource, next, to, l.Token)
	}
	if next.ID.IsZero() {
		next.ID = proposed
	}
	return next
}

func transferProposed(e *env) {
	g := e.acquire("r", "old")
	next := e.transfer(g.Lease, "new", e.id())
	e.held(next)
	e.renew(next)
	e.refused(e.request("r", "other"), leasehold.ReasonHeld)
	e.release(next)
}

func transferMakesID(e *env) {
	g := e.acquire("r", "old")
	next := e.transfer(g.Lease, "new", leasehold.ID{})
	e.renew(next)
	e.release(next)
}

func transferCarriesOn(e *env) {
	r := e.brief("r", "old")
	if e.h.can(MaxRenewals) {
		r.MaxRenewals = new(int)
		*r.MaxRenewals = 2
	}
	g := e.grant(r)
	e.renew(g.Lease)
	e.pass(e.short / 4)
	next := e.transfer(g.Lease, "new", e.id())
	if rest := e.short - e.short/4; !e.about(next.Remaining, rest) || next.Renewals != 1 || next.MaxRenewals != g.MaxRenewals || next.TTL != e.short {
		e.Errorf("Transfer = %+v, want %v remaining and 1 renewal of %d", next, rest, g.MaxRenewals)
	}
	if next.AcquiredAt.Before(g.AcquiredAt.Add(e.short / 8)) {
		e.Errorf("Transfer: acquired at %v, want the moment when the new holder got it", next.AcquiredAt)
	}
	e.renew(next)
	if e.h.can(MaxRenewals) {
		e.reason("Renew past the limit", e.renewErr(next), leasehold.ReasonMaxRenewals)
	}
	e.outlive(e.short)
	e.ended(next, leasehold.StateExpired)
}

func transferMetadata(e *env) {
	r := e.request("r", "a")
	r.Metadata = map[string]string{"k": "a"}
	g := e.grant(r)
	kept := e.transfer(g.Lease, "b", leasehold.ID{})
	if kept.Metadata["k"] != "a" {
		e.Errorf("Transfer without metadata leaves %q, want them kept", kept.Metadata)
	}
	want := map[string]string{"k": "c"}
	replaced, err := e.transferErr(leasehold.TransferRequest{ID: kept.ID, Resource: "r", To: "c", Metadata: want})
	if err != nil || !maps.Equal(replaced.Metadata, want) {
		e.Fatalf("Transfer with metadata = %q, %v; want %q", replaced.Metadata, err, want)
	}
	emptied, err := e.transferErr(leasehold.TransferRequest{ID: replaced.ID, Resource: "r", To: "d", Metadata: map[string]string{}})
	if err != nil || len(emptied.Metadata) != 0 {
		e.Fatalf("Transfer with empty metadata = %q, %v; want none", emptied.Metadata, err)
	}
	if got := e.held(emptied).Metadata; len(got) != 0 {
		e.Errorf("Status.Metadata = %q, want none", got)
	}
}

func transferEndsOldID(e *env) {
	g := e.acquire("r", "old")
	next := e.transfer(g.Lease, "new", e.id())
	e.reason("Renew with the old id", e.renewErr(g.Lease), leasehold.ReasonReleased)
	e.reason("Release with the old id", e.releaseErr(g.Lease), leasehold.ReasonReleased)
	_, err := e.transferErr(leasehold.TransferRequest{ID: g.ID, Resource: "r", To: "third", Proposed: e.id()})
	e.reason("Transfer with the old id", err, leasehold.ReasonReleased)
	e.held(next)
}

func transferRepeated(e *env) {
	g := e.acquire("r", "old")
	r := leasehold.TransferRequest{ID: g.ID, Resource: "r", To: "new", Proposed: e.id()}
	first, err := e.transferErr(r)
	if err != nil {
		e.Fatalf("Transfer = %v, want success", err)
	}
	second, err := e.transferErr(r) // as after a lost answer
	if err != nil || second.Token != first.Token || second.Holder != "new" || !second.ID.IsZero() {
		e.Errorf("Transfer again = %+v, %v; want the first answer, token %d", second, err, first.Token)
	}
	if e.h.can(History) {
		e.kinds("r", leasehold.KindAcquired, leasehold.KindTransferred)
	}
}

func transferToSame(e *env) {
	g := e.acquire("r", "h")
	_, err := e.transferErr(leasehold.TransferRequest{ID: g.ID, Resource: "r", To: "h", Proposed: e.id()})
	if err := e.reason("Transfer to the same holder", err, leasehold.ReasonInvalid); err.Field != "to_holder" || err.Problem == "" {
		e.Errorf("Transfer to the same holder names field %q, problem %q", err.Field, err.Problem)
	}
	e.renew(g.Lease)
}

func transferMustMatch(e *env) {
	e.release(e.acquire("r", "before").Lease)
	g := e.acquire("r", "h")
	for _, m := range mismatches(g.Lease) {
		_, err := e.transferErr(leasehold.TransferRequest{ID: g.ID, Resource: m.resource, To: "new", Holder: m.holder, Token: m.token})
		e.reason("Transfer with a wrong "+m.what, err, m.want)
		e.held(g.Lease)
	}
}

func transferUnknown(e *env) {
	g := e.acquire("r", "h")
	for _, resource := range []string{"r", "nowhere"} {
		_, err := e.transferErr(leasehold.TransferRequest{ID: e.id(), Resource: resource, To: "new"})
		e.reason("Transfer with a wrong id", err, leasehold.ReasonNotFound)
	}
	e.renew(g.Lease)
}

func transferBreaking(e *env) {
	g := e.acquire("r", "h")
	e.breakIn("r", 10*time.Second)
	_, err := e.transferErr(leasehold.TransferRequest{ID: g.ID, Resource: "r", To: "new"})
	e.reason("Transfer while breaking", err, leasehold.ReasonBreaking)
	e.release(g.Lease)
	_, err = e.transferErr(leasehold.TransferRequest{ID: g.ID, Resource: "r", To: "new"})
	e.reason("Transfer after release", err, e.lost(leasehold.ReasonReleased)...)
}

func transferToUsed(e *env) {
	a, b := e.acquire("a", "h"), e.acquire("b", "h")
	for _, used := range []leasehold.ID{b.ID, a.ID} {
		_, err := e.transferErr(leasehold.TransferRequest{ID: a.ID, Resource: "a", To: "new", Proposed: used})
		e.reason("Transfer to an id in use", err, leasehold.ReasonIDInUse)
	}
	e.renew(a.Lease)
	e.renew(b.Lease)
}

func transferWaiters(e *env) {
	g := e.acquire("r", "old")
	w := e.wait(e.request("r", "waiter"))
	next := e.transfer(g.Lease, "new", e.id())
	e.waitIdle()
	w.still()
	e.release(next)
	if got := w.granted(); got.Token <= next.Token {
		e.Errorf("the waiter's token is %d, after %d", got.Token, next.Token)
	}
}

func transferRecorded(e *env) {
	g := e.acquire("r", "old")
	next := e.transfer(g.Lease, "new", e.id())
	r := e.kinds("r", leasehold.KindAcquired, leasehold.KindTransferred)[1]
	if r.Holder != "new" || r.Token != next.Token || r.Details["from"] != "old" {
		e.Errorf("record of the transfer = %+v, want it from old to new with token %d", r, next.Token)
	}
}
