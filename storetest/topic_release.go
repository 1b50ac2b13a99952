package storetest

import (
	"context"
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

var forceChecks = []check{
	{name: "EndsAllOfOneHolder", run: forceEndsAll, needs: []Capability{ForceRelease}},
	{name: "HolderOfNothing", run: forceNobody, needs: []Capability{ForceRelease}},
	{name: "DoesNotCountTheEnded", run: forceCountsLive, needs: []Capability{ForceRelease}},
	{name: "EndsBreaking", run: forceBreaking, needs: []Capability{ForceRelease, Breaking}},
	{name: "NamesAreExact", run: forceExact, needs: []Capability{ForceRelease}},
	{name: "AfterTransfer", run: forceAfterTransfer, needs: []Capability{ForceRelease, Transfer}},
	{name: "WakesWaiters", run: forceWakes, needs: []Capability{ForceRelease, Waiting}},
	{name: "RefusesBadInput", run: forceInvalid, needs: []Capability{ForceRelease}},
	{name: "IsRecorded", run: forceRecorded, needs: []Capability{ForceRelease, History}},
	{name: "WithChildren", run: forceChildren, needs: []Capability{ForceChildren}},
	{name: "WithChildrenWakesWaiters", run: forceChildrenWakes, needs: []Capability{ForceChildren, Waiting}},
	{name: "WithChildrenRefusesBadInput", run: forceChildrenInvalid, needs: []Capability{ForceChildren}},
	{name: "WithChildrenIsRecorded", run: forceChildrenRecorded, needs: []Capability{ForceChildren, History}},
}

// force force-releases a holder and expects a number of leases.
func (e *env) force(holder, why string, want int) {
	e.Helper()
	n, err := power[leasehold.HolderReleaser](e).ReleaseHolder(e.Context(), holder, why)
	if err != nil || n != want {
		e.Fatalf("ReleaseHolder(%q) = %d, %v; want %d", holder, n, err, want)
	}
}

func forceEndsAll(e *env) {
	a, b := e.acquire("a", "bad"), e.acquire("b", "bad")
	good := e.acquire("c", "good")
	e.force("bad", "", 2)
	for _, g := range []leasehold.Grant{a, b} {
		e.ended(g.Lease, leasehold.StateReleased)
		e.reason("Renew", e.renewErr(g.Lease), e.lost(leasehold.ReasonReleased)...)
		e.reason("Release", e.releaseErr(g.Lease), e.lost(leasehold.ReasonReleased)...)
	}
	e.held(good.Lease)
	e.acquire("a", "bad") // it is no ban
}

func forceNobody(e *env) {
	g := e.acquire("r", "h")
	e.force("nobody", "", 0)
	e.held(g.Lease)
}

func forceCountsLive(e *env) {
	e.grant(e.brief("expired", "h"))
	e.outlive(e.short)
	e.release(e.acquire("released", "h").Lease)
	e.acquire("live", "h")
	e.force("h", "", 1)
	e.force("h", "", 0)
}

func forceBreaking(e *env) {
	g := e.acquire("r", "h")
	e.breakIn("r", 30*time.Second)
	e.force("h", "", 1)
	e.ended(g.Lease, leasehold.StateReleased)
}

func forceExact(e *env) {
	for i, holder := range []string{"host", "host-1", "Host", "hos%", "ho_t", "*"} {
		e.acquire(string(rune('a'+i)), holder)
	}
	e.force("host", "", 1)
	e.force("hos%", "", 1)
	e.force("*", "", 1)
	e.force("ho_t", "", 1)
	e.force("Host", "", 1)
	e.force("host-1", "", 1)
}

func forceAfterTransfer(e *env) {
	g := e.acquire("r", "old")
	next := e.transfer(g.Lease, "new", e.id())
	e.force("old", "", 0)
	e.held(next)
	e.force("new", "", 1)
	e.free("r")
}

func forceWakes(e *env) {
	e.acquire("a", "bad")
	e.acquire("b", "bad")
	wa, wb := e.wait(e.request("a", "x")), e.wait(e.request("b", "y"))
	e.force("bad", "", 2)
	e.held(wa.atOnce().Lease)
	e.held(wb.atOnce().Lease)
}

func forceInvalid(e *env) {
	e.forceRefused("ReleaseHolder", power[leasehold.HolderReleaser](e).ReleaseHolder)
}

// forceRefused expects a force-release to refuse bad arguments.
func (e *env) forceRefused(name string, force func(ctx context.Context, holder, why string) (int, error)) {
	g := e.acquire("r", "h")
	for what, holder := range badNames(leasehold.MaxHolder) {
		_, err := force(e.Context(), holder, "")
		e.invalid(name+" with a holder "+what, err, "holder")
	}
	_, err := force(e.Context(), "h", longText(leasehold.MaxWhy+1))
	e.invalid(name+" with a reason too long", err, "reason")
	e.held(g.Lease)
}

func forceRecorded(e *env) {
	a, b := e.acquire("a", "bad"), e.acquire("b", "bad")
	e.force("bad", "machine lost", 2)
	for _, g := range []leasehold.Grant{a, b} {
		r := e.kinds(g.Resource, leasehold.KindAcquired, leasehold.KindForceReleased)[1]
		if r.Why != "machine lost" || r.Holder != "bad" || r.Token != g.Token || r.Before != leasehold.StateActive || r.After != leasehold.StateReleased {
			e.Errorf("record of a force-release = %+v", r)
		}
	}
}

// forceWithChildren is force for the holder and those below it.
func (e *env) forceWithChildren(holder, why string, want int) {
	e.Helper()
	n, err := power[leasehold.ChildReleaser](e).ReleaseWithChildren(e.Context(), holder, why)
	if err != nil || n != want {
		e.Fatalf("ReleaseWithChildren(%q) = %d, %v; want %d", holder, n, err, want)
	}
}

// forceChildren: names below the holder's end, those beside it stay, whatever they have
// in common with it.
func forceChildren(e *env) {
	var gone, stays []leasehold.Lease
	for i, holder := range []string{"s", "s/a", "s/b", "s/a/deep", "s/"} {
		gone = append(gone, e.acquire(string(rune('a'+i)), holder).Lease)
	}
	gone = append(gone, e.acquire("another of s/a", "s/a").Lease)
	for i, holder := range []string{"s2", "s-", "s0", "S/a", "x/s/a", "t", "%/a"} {
		stays = append(stays, e.acquire(string(rune('m'+i)), holder).Lease)
	}
	e.forceWithChildren("%", "", 1)
	stays = stays[:len(stays)-1]
	e.forceWithChildren("s", "", len(gone))
	for _, l := range gone {
		e.ended(l, leasehold.StateReleased)
	}
	for _, l := range stays {
		e.held(l)
	}
	e.forceWithChildren("s", "", 0)
	e.forceWithChildren("nobody", "", 0)
	e.forceWithChildren("x", "", 1) // it need not have a lease itself
}

func forceChildrenWakes(e *env) {
	e.acquire("a", "s")
	e.acquire("b", "s/x")
	wa, wb := e.wait(e.request("a", "x")), e.wait(e.request("b", "y"))
	e.forceWithChildren("s", "", 2)
	e.held(wa.atOnce().Lease)
	e.held(wb.atOnce().Lease)
}

func forceChildrenInvalid(e *env) {
	e.forceRefused("ReleaseWithChildren", power[leasehold.ChildReleaser](e).ReleaseWithChildren)
}

func forceChildrenRecorded(e *env) {
	g := e.acquire("a", "s/x")
	e.forceWithChildren("s", "session over", 1)
	r := e.kinds(g.Resource, leasehold.KindAcquired, leasehold.KindForceReleased)[1]
	if r.Why != "session over" || r.Holder != "s/x" || r.Token != g.Token {
		e.Errorf("record of a force-release with children = %+v", r)
	}
}
