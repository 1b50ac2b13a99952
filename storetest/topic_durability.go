package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/leasehold/leasehold"
)

var durabilityChecks = []check{
	{name: "EverythingAcknowledgedIsThere", run: everythingIsThere, reopens: true},
	{name: "TokensGrowAcross", run: tokensGrowAcross, reopens: true},
	{name: "TokensGrowAfterRelease", run: tokensGrowAfterRelease, reopens: true},
	{name: "IDsStillWork", run: idsStillWork, reopens: true},
	{name: "EndedLeasesAreRemembered", run: endedRemembered, needs: []Capability{Memory}, reopens: true},
	{name: "HistoryGoesOn", run: historyGoesOn, needs: []Capability{History}, reopens: true},
	{name: "ReleasedStaysReleased", run: releasedStays, reopens: true},
	{name: "BreakingGoesOn", run: breakingGoesOn, needs: []Capability{Breaking}, reopens: true},
	{name: "ChangeAndTransferStay", run: handedStays, needs: []Capability{Changing, Transfer}, reopens: true},
	{name: "SetsSurvive", run: setsSurvive, needs: []Capability{Sets}, reopens: true},
	{name: "NotesSurvive", run: notesSurvive, needs: []Capability{Notes}, reopens: true},
	{name: "NotesOfSetsSurvive", run: noteOfSetSurvives, needs: []Capability{Notes, Sets}, reopens: true},
	{name: "QueuesAreEmptied", run: queuesEmptied, needs: []Capability{ShownQueue}, reopens: true},
	{name: "TimePassesWhileDown", run: timePassesWhileDown, needs: []Capability{Downtime}, reopens: true, simulated: true},
	{name: "ExpiryComesAllTheSame", run: expiryAfterReopen, reopens: true},
}

func everythingIsThere(e *env) {
	var want []leasehold.Lease
	var since []time.Time
	for i := range 20 {
		r := e.request(fmt.Sprint("r", i), "h")
		r.Metadata = map[string]string{"i": fmt.Sprint(i), "odd": "'; --\n🔑"}
		since = append(since, time.Now()) // before: the store counts from somewhere in the call
		g := e.grant(r)
		if i%2 == 0 {
			g.Lease = e.renewFor(g.Lease, e.long-time.Second)
		}
		want = append(want, g.Lease)
	}
	e.reopen()
	for i, l := range want {
		got := e.held(l)
		passed := time.Since(since[i]) // calls take time
		if got.TTL != l.TTL || got.Renewals != l.Renewals || !cmp.Equal(got.Metadata, l.Metadata) || !got.AcquiredAt.Equal(l.AcquiredAt) || !got.RenewedAt.Equal(l.RenewedAt) {
			e.Errorf("after reopening the lease is %+v, want %+v", got, l)
		}
		if got.Remaining > l.Remaining || got.Remaining < l.Remaining-passed-e.moments() {
			e.Errorf("after reopening %v remain of %v, %v later", got.Remaining, l.Remaining, passed)
		}
		e.refused(e.request(l.Resource, "other"), leasehold.ReasonHeld)
	}
}

func tokensGrowAcross(e *env) {
	var last uint64
	for range 5 {
		g := e.acquire("r", "h")
		if g.Token <= last {
			e.Fatalf("token %d after %d", g.Token, last)
		}
		last = g.Token
		e.reopen()
		e.release(g.Lease)
	}
}

// tokensGrowAfterRelease leaves nothing behind but the counter.
func tokensGrowAfterRelease(e *env) {
	first := e.acquire("r", "h")
	e.release(first.Lease)
	e.reopen()
	if next := e.acquire("r", "h"); next.Token <= first.Token {
		e.Errorf("token %d after %d", next.Token, first.Token)
	}
}

func idsStillWork(e *env) {
	r := withID(e.request("r", "h"), e.id())
	g := e.grant(r)
	other := e.acquire("other", "h")
	e.reopen()
	e.again(r, g)
	e.renew(g.Lease)
	if e.h.can(Finding) {
		e.found(g.Lease, leasehold.StateActive)
	}
	if e.h.can(UniqueIDs) {
		e.refused(withID(e.request("third", "h"), other.ID), leasehold.ReasonIDInUse)
	}
	e.release(g.Lease)
	e.release(other.Lease)
}

func endedRemembered(e *env) {
	released := e.acquire("released", "h")
	e.release(released.Lease)
	e.reopen()
	e.ended(released.Lease, leasehold.StateReleased)
	e.reason("Renew", e.renewErr(released.Lease), leasehold.ReasonReleased)
	e.refused(withID(e.request("released", "h"), released.ID), leasehold.ReasonReleased)
}

func historyGoesOn(e *env) {
	for i := range 5 {
		e.release(e.acquire(fmt.Sprint("r", i), "h").Lease)
	}
	before := ReadHistory(e.TB, e.store)
	e.reopen()
	if after := ReadHistory(e.TB, e.store); !cmp.Equal(before, after) {
		e.Errorf("history after reopening differs:\n%s", cmp.Diff(before, after))
	}
	e.acquire("next", "h") // the audit looks for a gap
}

func releasedStays(e *env) {
	g := e.acquire("r", "h")
	e.release(g.Lease)
	e.reopen()
	e.free("r")
	next := e.acquire("r", "other")
	e.reopen()
	e.held(next.Lease)
	e.reason("Renew", e.renewErr(g.Lease), leasehold.ReasonNotFound)
}

func breakingGoesOn(e *env) {
	g := e.acquire("r", "h")
	period := e.breakPeriod()
	e.breakIn("r", period)
	e.reopen()
	e.reason("Renew", e.renewErr(g.Lease), append(e.lost(leasehold.ReasonBroken), leasehold.ReasonBreaking)...)
	e.outlive(period)
	e.ended(g.Lease, leasehold.StateBroken)
	e.acquire("r", "next")
}

func handedStays(e *env) {
	a, b := e.acquire("a", "h"), e.acquire("b", "h")
	to := e.id()
	changed := e.change(a.Lease, to)
	next := e.transfer(b.Lease, "new", e.id())
	e.reopen()
	e.renew(changed)
	e.renew(next)
	e.change(a.Lease, to) // as after a lost answer
	e.reason("Renew", e.renewErr(a.Lease), leasehold.ReasonNotFound)
	e.reason("Renew", e.renewErr(b.Lease), leasehold.ReasonReleased)
}

func setsSurvive(e *env) {
	r := withID(e.mixture("h"), e.id())
	r.Claims[1].Mode = leasehold.Shared
	g, reader := e.grant(r), e.grant(e.sharing("reader", "b"))
	over := e.grant(e.names("h", "c"))
	e.release(over.Lease)
	e.reopen()
	e.stillCoversAsGranted(g.Lease)
	e.refused(e.claims("other", leasehold.Paths("ns", "src/a")...), leasehold.ReasonHeld)
	e.refused(e.request("a", "other"), leasehold.ReasonHeld)
	e.covered("b", g, reader)
	e.release(e.grant(e.names("other", "c")).Lease)
	e.again(r, g)
	r.Claims = shared(r.Claims)
	down := e.grant(r)
	if down.Resource != g.Resource || down.Token <= reader.Token {
		e.Errorf("downgrade after reopening = %q with token %d, want %q with a token above %d", down.Resource, down.Token, g.Resource, reader.Token)
	}
	e.reopen()
	e.stillCoversAsGranted(down.Lease)
	e.release(down.Lease)
	e.release(reader.Lease)
	e.reopen()
	e.allFree(g.Claims...)
}

// stillCoversAsGranted expects a set as it was granted, in its modes.
func (e *env) stillCoversAsGranted(l leasehold.Lease) {
	e.Helper()
	if got := e.held(l); !slices.Equal(got.Claims, l.Claims) {
		e.Errorf("after reopening %q covers %v, want %v", l.Resource, got.Claims, l.Claims)
	}
}

func notesSurvive(e *env) {
	e.releaseNoting(e.acquire("r", "first").Lease, "n")
	e.reopen()
	g := e.acquire("r", "second")
	want := leasehold.Note{From: "first", Text: "n"}
	e.noted(g.Lease, want)
	e.reopen()
	e.noted(e.renew(g.Lease), want)
	e.release(g.Lease)
	e.reopen()
	e.noted(e.acquire("r", "third").Lease)
}

func noteOfSetSurvives(e *env) {
	e.releaseNoting(e.grant(e.mixture("first")).Lease, "n")
	e.reopen()
	want := leasehold.Note{From: "first", Text: "n"}
	g := e.grant(e.claims("second", leasehold.Paths("ns", "src/a")...))
	e.noted(g.Lease, want)
	e.reopen()
	e.noted(e.renew(g.Lease), want)
	e.noted(e.acquire("a", "third").Lease) // and it was removed for good
}

func queuesEmptied(e *env) {
	g := e.acquire("r", "h")
	w := e.wait(withID(e.request("r", "w"), e.id()))
	e.reopen()
	e.reason("Wait while the store restarts", w.failed(), leasehold.ReasonUnavailable)
	if n := len(e.status("r").Waiters); n != 0 {
		e.Errorf("%d waiters after a restart, want none: they ask again", n)
	}
	again := e.wait(w.request)
	e.release(g.Lease)
	again.atOnce()
}

// timePassesWhileDown is about embedded stores, whose clock is their own: a lease
// ends when it said it would, whether or not the store was open.
func timePassesWhileDown(e *env) {
	g := e.grant(e.brief("r", "h"))
	left := e.short
	for range 3 {
		e.pass(e.short / 8)
		if err := e.store.Close(); err != nil {
			e.Fatalf("Close = %v, want success", err)
		}
		e.pass(e.short / 8)
		e.reopen()
		left -= e.short / 8 * 2
		if l := e.held(g.Lease); !e.about(l.Remaining, left) {
			e.Errorf("%v remain, want %v", l.Remaining, left)
		}
	}
	if err := e.store.Close(); err != nil {
		e.Fatalf("Close = %v, want success", err)
	}
	e.pass(left)
	e.reopen()
	e.ended(g.Lease, leasehold.StateExpired)
	e.acquire("r", "next")
}

func expiryAfterReopen(e *env) {
	var grants []leasehold.Grant
	for i := range 3 {
		grants = append(grants, e.grant(e.brief(fmt.Sprint("r", i), "h")))
	}
	e.reopen()
	e.outlive(e.short)
	for _, g := range slices.Backward(grants) {
		e.ended(g.Lease, leasehold.StateExpired)
		e.acquire(g.Resource, "next")
	}
}
