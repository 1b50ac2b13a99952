package storetest

import (
	"time"

	"github.com/leasehold/leasehold"
)

var releaseChecks = []check{
	{name: "FreesAtOnce", run: releaseFrees},
	{name: "Twice", run: releaseTwice},
	{name: "NothingRevivesIt", run: releasedIsOver},
	{name: "MustMatch", run: releaseMustMatch},
	{name: "UnknownIDIsNotFound", run: releaseUnknown},
	{name: "WhileBreaking", run: releaseBreaking, needs: []Capability{Breaking}},
	{name: "RecordsWhy", run: releaseWhy, needs: []Capability{History}},
}

func releaseFrees(e *env) {
	g := e.acquire("r", "h")
	ended := e.release(g.Lease)
	if ended.Holder != "h" || ended.Remaining != 0 {
		e.Errorf("Release = %+v, want the lease as it ended", ended)
	}
	e.ended(g.Lease, leasehold.StateReleased)
	e.acquire("r", "other")
}

func releaseTwice(e *env) {
	g := e.acquire("r", "h")
	e.release(g.Lease)
	e.reason("Release again", e.releaseErr(g.Lease), e.lost(leasehold.ReasonReleased)...)
	e.ended(g.Lease, leasehold.StateReleased)
}

func releasedIsOver(e *env) {
	g := e.acquire("r", "h")
	e.release(g.Lease)
	e.reason("Renew", e.renewErr(g.Lease), e.lost(leasehold.ReasonReleased)...)
	if e.h.can(Breaking) {
		_, err := e.breakNow("r", "")
		e.reason("Break", err, e.lost(leasehold.ReasonReleased)...)
	}
	e.ended(g.Lease, leasehold.StateReleased)
}

func releaseMustMatch(e *env) {
	e.release(e.acquire("r", "before").Lease)
	g := e.acquire("r", "h")
	for _, m := range mismatches(g.Lease) {
		_, err := e.store.Release(e.Context(), leasehold.ReleaseRequest{ID: g.ID, Resource: m.resource, Holder: m.holder, Token: m.token})
		e.reason("Release with a wrong "+m.what, err, m.want)
		e.held(g.Lease)
	}
	_, err := e.store.Release(e.Context(), leasehold.ReleaseRequest{ID: g.ID, Resource: "r", Holder: "h", Token: g.Token})
	if err != nil {
		e.Errorf("Release with holder and token = %v, want success", err)
	}
}

func releaseUnknown(e *env) {
	g := e.acquire("r", "h")
	_, err := e.store.Release(e.Context(), leasehold.ReleaseRequest{ID: e.id(), Resource: "r"})
	e.reason("Release with a wrong id", err, leasehold.ReasonNotFound)
	_, err = e.store.Release(e.Context(), leasehold.ReleaseRequest{ID: e.id(), Resource: "nowhere"})
	e.reason("Release where nothing is", err, leasehold.ReasonNotFound)
	e.held(g.Lease)
}

func releaseBreaking(e *env) {
	g := e.acquire("r", "h")
	e.breakIn("r", 30*time.Second)
	e.release(g.Lease)
	e.ended(g.Lease, leasehold.StateReleased)
	e.acquire("r", "other")
}

func releaseWhy(e *env) {
	g := e.acquire("r", "h")
	_, err := e.store.Release(e.Context(), leasehold.ReleaseRequest{ID: g.ID, Resource: "r", Why: "work done, café ☕"})
	if err != nil {
		e.Fatalf("Release = %v, want success", err)
	}
	records := e.kinds("r", leasehold.KindAcquired, leasehold.KindReleased)
	if records[1].Why != "work done, café ☕" {
		e.Errorf("record of the release: why %q", records[1].Why)
	}
}
