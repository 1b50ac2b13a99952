package storetest

import (
	"fmt"
	"time"

	"github.com/leasehold/leasehold"
)

// mistakeChecks are the mistakes of earlier systems, by name. Some of the checks
// belong to other topics, too.
var mistakeChecks = []check{
	{name: "CheckThenInsertLetsTwoIn", run: checkThenInsert, unbubbled: true},
	{name: "ExpiredLeaseBlocksUntilCleanup", run: expiredBlocks},
	{name: "RenewRevivesExpired", run: renewRevivesExpired},
	{name: "RenewRevivesReleased", run: renewRevivesReleased},
	{name: "SameHolderGetsTwoLeases", run: sameHolderTwice},
	{name: "ForceReleaseWithoutHistory", run: forceRecorded, needs: []Capability{ForceRelease, History}},
	{name: "RenewalLengthGrows", run: renewalGrows},
	{name: "ReleaseByNameEndsNewerLease", run: releaseEndsNewer},
	{name: "ReleaseWithCancelledContextLeavesTheLease", run: releaseWithCancelledContext},
	{name: "DeadWaiterBlocksFairQueue", run: deadWaiter, needs: []Capability{Waiting}},
	{name: "SettingsThatNothingReads", run: settingDefaultTTL, needs: []Capability{Settings}},
	{name: "TokenRepeatsAfterPurge", run: tokenAfterPurge, needs: []Capability{Settings, History, Cleanup}, simulated: true, gaps: true},
	{name: "TokenRepeatsAfterRestart", run: tokenAfterRestart, reopens: true},
	{name: "GrantAfterLongWaitIsDeadOnArrival", run: ttlFromGrant, needs: []Capability{Waiting}},
	{name: "RestartEndsOrLengthensALease", run: restartKeepsTheEnd, reopens: true},
	{name: "TimeStandsWhileTheStoreIsDown", run: timePassesWhileDown, needs: []Capability{Downtime}, reopens: true, simulated: true},
}

func checkThenInsert(e *env) {
	for i := range 30 {
		e.held(e.contend(fmt.Sprint("r", i), 16))
	}
}

func expiredBlocks(e *env) {
	e.setIfAny(leasehold.SettingAutoExpire, false)
	e.setIfAny(leasehold.SettingCleanupInterval, 86_400)
	e.grant(e.brief("r", "dead"))
	e.outlive(e.short)
	e.acquire("r", "next") // nothing looked at it in between
}

func renewRevivesExpired(e *env) {
	g := e.grant(e.brief("r", "h"))
	e.outlive(e.short)
	for range 3 {
		e.reason("Renew", e.renewErr(g.Lease), e.lost(leasehold.ReasonExpired)...)
	}
	e.ended(g.Lease, leasehold.StateExpired)
}

func renewRevivesReleased(e *env) {
	g := e.acquire("r", "h")
	e.release(g.Lease)
	for range 3 {
		e.reason("Renew", e.renewErr(g.Lease), e.lost(leasehold.ReasonReleased)...)
	}
	e.ended(g.Lease, leasehold.StateReleased)
}

func sameHolderTwice(e *env) {
	g := e.acquire("r", "h")
	e.refused(e.request("r", "h"), leasehold.ReasonHeld)
	e.refused(withID(e.request("r", "h"), e.id()), leasehold.ReasonHeld)
	if e.h.can(Listing) {
		e.lists(leasehold.ListRequest{Holder: "h"}, "r")
	}
	e.release(g.Lease)
	e.free("r")
}

// renewalGrows looks at the end after each of many renewals.
func renewalGrows(e *env) {
	g := e.grant(e.brief("r", "h"))
	for i := range 10 {
		e.pass(e.short / 20)
		if l := e.renew(g.Lease); l.Remaining > e.short || l.TTL != e.short {
			e.Fatalf("renewal %d leaves %v of a ttl of %v, want %v", i+1, l.Remaining, l.TTL, e.short)
		}
	}
	e.outlive(e.short)
	e.free("r")
}

func releaseEndsNewer(e *env) {
	old := e.grant(e.brief("r", "h"))
	e.outlive(e.short)
	newer := e.acquire("r", "h") // even by the same holder
	e.reason("Release with the old id", e.releaseErr(old.Lease), leasehold.ReasonNotFound)
	_, err := e.store.Release(e.Context(), leasehold.ReleaseRequest{ID: old.ID, Resource: "r", Holder: "h", Token: old.Token})
	e.reason("Release with the old id and token", err, leasehold.ReasonNotFound)
	e.held(newer.Lease)
}

// releaseWithCancelledContext: the store says that it did not release, so that
// the caller can repeat it with another context.
func releaseWithCancelledContext(e *env) {
	g := e.acquire("r", "h")
	_, err := e.store.Release(e.cancelled(), leasehold.ReleaseRequest{ID: g.ID, Resource: "r"})
	if err == nil {
		e.free("r")
		return
	}
	e.contextEnded("Release", err)
	if err := e.releaseErr(g.Lease); err != nil {
		e.reason("Release again", err, e.lost(leasehold.ReasonReleased)...)
	}
	e.free("r")
}

func tokenAfterPurge(e *env) {
	first := e.acquire("r", "h")
	e.release(first.Lease)
	e.set(leasehold.SettingHistoryMaxRows, 0)
	e.set(leasehold.SettingHistoryRetention, 1)
	e.pass(3 * 24 * time.Hour) // retention is a day
	e.cleanup()
	if next := e.acquire("r", "h"); next.Token <= first.Token {
		e.Errorf("token %d after a purge, want above %d", next.Token, first.Token)
	}
}

func tokenAfterRestart(e *env) {
	var last uint64
	for range 3 {
		g := e.acquire("r", "h")
		if g.Token <= last {
			e.Fatalf("token %d after a restart, want above %d", g.Token, last)
		}
		last = g.Token
		e.release(g.Lease)
		e.reopen()
	}
}

// restartKeepsTheEnd: a lease is neither ended nor lengthened by a restart. Stores whose
// clock runs in another process lose what the restart took.
func restartKeepsTheEnd(e *env) {
	g := e.acquire("r", "h")
	for range 3 {
		e.reopen()
	}
	l := e.held(g.Lease)
	if l.Remaining > e.long || l.Remaining < e.long-e.atMost(3*e.moments()) {
		e.Errorf("%v of %v remain after restarts", l.Remaining, e.long)
	}
	e.renew(g.Lease)
}
