package storetest

import (
	"time"

	"github.com/leasehold/leasehold"
)

var expireChecks = []check{
	{name: "EndsByItself", run: endsByItself},
	{name: "EndsExactly", run: endsExactly, simulated: true},
	{name: "TellsTheOwner", run: tellsTheOwner},
	{name: "IsNotListed", run: expiredNotListed, needs: []Capability{Listing}},
	{name: "NewGrantHasNewToken", run: grantAfterExpiry},
	{name: "ManyAtOnce", run: manyExpire},
	{name: "IsRecorded", run: expiryRecorded, needs: []Capability{ExpiryRecords}},
}

func endsByItself(e *env) {
	g := e.grant(e.brief("r", "h"))
	e.outlive(e.short)
	e.ended(g.Lease, leasehold.StateExpired)
	if s := e.status("r"); s.Check(g.Token) {
		e.Error("Status.Check says that the token of an expired lease may act")
	}
	e.acquire("r", "other")
}

func endsExactly(e *env) {
	g := e.grant(e.brief("r", "h"))
	e.pass(e.short - time.Nanosecond)
	if l := e.held(g.Lease); (l.Remaining - time.Nanosecond).Abs() > e.h.Slack {
		e.Errorf("a nanosecond before the end Remaining = %v", l.Remaining)
	}
	e.pass(time.Nanosecond)
	e.ended(g.Lease, leasehold.StateExpired)
}

func tellsTheOwner(e *env) {
	g := e.grant(e.brief("r", "h"))
	e.outlive(e.short)
	e.reason("Renew", e.renewErr(g.Lease), e.lost(leasehold.ReasonExpired)...)
	e.reason("Release", e.releaseErr(g.Lease), e.lost(leasehold.ReasonExpired)...)
	e.ended(g.Lease, leasehold.StateExpired)
	if e.h.can(Breaking) {
		_, err := e.breakNow("r", "")
		e.reason("Break", err, e.lost(leasehold.ReasonExpired)...)
	}
	if e.h.can(Changing) {
		_, err := power[leasehold.Changer](e).Change(e.Context(), leasehold.ChangeRequest{ID: g.ID, Resource: "r", Proposed: e.id()})
		e.reason("Change", err, e.lost(leasehold.ReasonExpired)...)
	}
	if e.h.can(Transfer) {
		_, err := power[leasehold.Transferer](e).Transfer(e.Context(), leasehold.TransferRequest{ID: g.ID, Resource: "r", To: "x"})
		e.reason("Transfer", err, e.lost(leasehold.ReasonExpired)...)
	}
	e.ended(g.Lease, leasehold.StateExpired)
}

func expiredNotListed(e *env) {
	e.grant(e.brief("r", "h"))
	keep := e.acquire("stays", "h")
	e.outlive(e.short)
	e.lists(leasehold.ListRequest{}, keep.Resource)
}

func grantAfterExpiry(e *env) {
	var last uint64
	for range 2 {
		g := e.grant(e.brief("r", "h"))
		if g.Token <= last {
			e.Errorf("token %d after %d", g.Token, last)
		}
		last = g.Token
		e.outlive(e.short)
		e.free("r")
	}
}

func manyExpire(e *env) {
	names := []string{"a", "b", "c", "d", "e", "f"}
	for _, n := range names {
		e.grant(e.brief(n, "h"))
	}
	long := e.acquire("long", "h")
	e.outlive(e.short)
	for _, n := range names {
		e.free(n)
	}
	e.held(long.Lease)
}

func expiryRecorded(e *env) {
	g := e.grant(e.brief("r", "h"))
	e.outlive(e.short)
	e.acquire("r", "next") // the next acquire records the expiry, if nothing did
	records := e.kinds("r", leasehold.KindAcquired, leasehold.KindExpired, leasehold.KindAcquired)
	if r := records[1]; r.Before != leasehold.StateActive || r.After != leasehold.StateExpired || r.Holder != "h" || r.Token != g.Token {
		e.Errorf("record of the expiry = %+v", r)
	}
}

var cleanupChecks = []check{
	{name: "NothingToDo", run: cleanupNothing, needs: []Capability{Cleanup}},
	{name: "LeavesTheLivingAlone", run: cleanupLeavesLiving, needs: []Capability{Cleanup}},
	{name: "NothingDependsOnIt", run: grantAfterExpiry},
	{name: "ForgetsAfterAnHour", run: cleanupForgets, needs: []Capability{Cleanup, Memory}, simulated: true},
	{name: "TokensGrowAfterForgetting", run: cleanupTokens, needs: []Capability{Cleanup}, simulated: true},
}

func (e *env) cleanup() leasehold.Cleaned {
	e.Helper()
	cleaned, err := power[leasehold.Cleaner](e).Cleanup(e.Context())
	if err != nil {
		e.Fatalf("Cleanup = %v, want success", err)
	}
	return cleaned
}

func cleanupNothing(e *env) {
	if cleaned := e.cleanup(); cleaned != (leasehold.Cleaned{}) {
		e.Errorf("Cleanup of an empty store = %+v", cleaned)
	}
	g := e.acquire("r", "h")
	e.release(g.Lease)
	if cleaned := e.cleanup(); cleaned != (leasehold.Cleaned{}) {
		e.Errorf("Cleanup with nothing due = %+v", cleaned)
	}
	e.ended(g.Lease, leasehold.StateReleased)
}

func cleanupLeavesLiving(e *env) {
	g := e.acquire("r", "h")
	e.grant(e.brief("short", "h"))
	e.outlive(e.short)
	e.cleanup()
	e.held(g.Lease)
	e.renew(g.Lease)
	e.free("short")
}

func cleanupForgets(e *env) {
	e.release(e.acquire("a", "h").Lease)
	e.release(e.acquire("b", "h").Lease)
	live := e.grant(e.lasting("live", "h"))
	e.setIfAny(leasehold.SettingCleanupInterval, 86_400) // so that the sweep does not forget them first
	e.pass(time.Hour + time.Second)
	if cleaned := e.cleanup(); e.h.can(Settings) && cleaned.Forgotten != 2 {
		e.Errorf("Cleanup after an hour = %+v, want 2 forgotten", cleaned)
	}
	for _, n := range []string{"a", "b"} {
		if s := e.status(n); s.Lease != nil {
			e.Errorf("Status(%q) = %s, want available", n, describeStatus(s))
		}
	}
	e.held(live.Lease)
}

// setIfAny changes a setting where there are settings.
func (e *env) setIfAny(key string, value any) {
	e.Helper()
	if e.h.can(Settings) {
		e.set(key, value)
	}
}

func cleanupTokens(e *env) {
	var last uint64
	for range 3 {
		g := e.acquire("r", "h")
		if g.Token <= last {
			e.Errorf("token %d after the row was forgotten, want above %d", g.Token, last)
		}
		last = g.Token
		e.release(g.Lease)
		e.pass(2 * time.Hour)
		e.cleanup()
	}
}
