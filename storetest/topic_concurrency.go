package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leasehold/leasehold"
)

var concurrencyChecks = []check{
	{name: "OneOfManyWins", run: oneOfManyWins, unbubbled: true},
	{name: "OneOfManyWinsTheExpired", run: oneOfManyWinsExpired, unbubbled: true},
	{name: "OneOfManyReleases", run: oneOfManyReleases, unbubbled: true},
	{name: "SameIDFromManyIsOneLease", run: sameIDFromMany, unbubbled: true},
	{name: "WaitersNeverOverlap", run: waitersNeverOverlap, needs: []Capability{Waiting}, unbubbled: true},
	{name: "WaitersComeAndGo", run: waitersComeAndGo, needs: []Capability{Waiting}, unbubbled: true},
	{name: "SetsNeverOverlap", run: setsNeverOverlap, needs: []Capability{Sets, Waiting}, unbubbled: true},
	{name: "ManyResources", run: manyResources, unbubbled: true},
	{name: "RenewAgainstBreak", run: renewAgainstBreak, needs: []Capability{Breaking}, unbubbled: true},
	{name: "ForceReleaseIsOneStep", run: forceIsOneStep, needs: []Capability{ForceRelease, History}, unbubbled: true},
	{name: "IsLinearizable", run: isLinearizable, unbubbled: true},
}

// concurrently runs n calls at the same time.
func concurrently(n int, call func(i int)) {
	var all sync.WaitGroup
	gate := make(chan struct{})
	for i := range n {
		all.Go(func() {
			<-gate
			call(i)
		})
	}
	close(gate)
	all.Wait()
}

// contend has n callers acquire at the same time and expects one grant.
func (e *env) contend(resource string, n int) leasehold.Lease {
	e.Helper()
	grants := make([]leasehold.Grant, n)
	errs := make([]error, n)
	concurrently(n, func(i int) {
		grants[i], errs[i] = e.store.Acquire(e.Context(), e.request(resource, fmt.Sprint("h", i)))
	})
	var winners []leasehold.Lease
	for i, err := range errs {
		if err == nil {
			e.learn(grants[i].ID)
			winners = append(winners, grants[i].Lease)
		} else if !errors.Is(err, leasehold.ErrHeld) {
			e.Errorf("Acquire(%q) = %v, want ErrHeld", resource, err)
		}
	}
	if len(winners) != 1 {
		e.Fatalf("%d of %d concurrent acquires were granted, want 1", len(winners), n)
	}
	for _, err := range errs {
		var held *leasehold.Error
		if errors.As(err, &held) && (held.Current == nil || held.Current.Token != winners[0].Token) {
			e.Errorf("ErrHeld names %+v, want the winner's token %d", held.Current, winners[0].Token)
		}
	}
	return winners[0]
}

func oneOfManyWins(e *env) {
	for i := range 3 {
		winner := e.contend("r", 200)
		e.held(winner)
		if i < 2 {
			e.release(winner)
		}
	}
}

func oneOfManyWinsExpired(e *env) {
	e.grant(leasehold.AcquireRequest{Resource: "r", Holder: "h", TTL: e.h.MinTTL})
	e.outlive(e.h.MinTTL)
	e.held(e.contend("r", 100))
}

func oneOfManyReleases(e *env) {
	g := e.acquire("r", "h")
	var released atomic.Int32
	errs := make([]error, 50)
	concurrently(50, func(i int) {
		if errs[i] = e.releaseErr(g.Lease); errs[i] == nil {
			released.Add(1)
		}
	})
	if n := released.Load(); n != 1 {
		e.Errorf("%d of 50 concurrent releases succeeded, want 1", n)
	}
	for _, err := range errs {
		if err != nil {
			e.reason("Release", err, e.lost(leasehold.ReasonReleased)...)
		}
	}
}

// sameIDFromMany is a client that repeats its request many times at once.
func sameIDFromMany(e *env) {
	r := withID(e.request("r", "h"), e.id())
	n := 50
	if !e.h.Bubble {
		n = 10 // one after the other, within the time of one call, on a busy disk
	}
	grants, errs := make([]leasehold.Grant, n), make([]error, n)
	concurrently(n, func(i int) { grants[i], errs[i] = e.store.Acquire(e.Context(), r) })
	first := 0
	for i := range n {
		if errs[i] != nil {
			e.Fatalf("Acquire = %v, want a grant", errs[i])
		}
		if !grants[i].Idempotent {
			first++
		}
		if grants[i].Token != grants[0].Token {
			e.Errorf("tokens %d and %d for one id", grants[i].Token, grants[0].Token)
		}
	}
	if first != 1 {
		e.Errorf("%d grants of one id are new, want 1", first)
	}
	if l := e.held(grants[0].Lease); l.Renewals != n-1 {
		e.Errorf("Renewals = %d, want %d", l.Renewals, n-1)
	}
}

func waitersNeverOverlap(e *env) {
	var inside atomic.Int32
	var last atomic.Uint64
	concurrently(50, func(i int) {
		r := e.request("r", fmt.Sprint("w", i))
		r.Timeout = time.Minute // never needed, but 50 hand-overs over a busy network take their time
		r.Priority = i % 3
		g, err := power[leasehold.Waiter](e).Wait(e.Context(), r)
		if err != nil {
			e.Errorf("Wait = %v, want a grant", err)
			return
		}
		if n := inside.Add(1); n != 1 {
			e.Errorf("%d holders at the same time", n)
		}
		if before := last.Swap(g.Token); before >= g.Token {
			e.Errorf("token %d after %d", g.Token, before)
		}
		inside.Add(-1)
		if err := e.releaseErr(g.Lease); err != nil {
			e.Errorf("Release = %v, want success", err)
		}
	})
	e.free("r")
}

// setsNeverOverlap has waiters for names and sets in both modes. Each gets its turn.
func setsNeverOverlap(e *env) {
	const writer = 1000 // counts for more than all readers
	var inside [4]atomic.Int32
	weight := map[leasehold.Mode]int32{leasehold.Exclusive: writer, leasehold.Shared: 1}
	concurrently(16, func(i int) {
		random := rand.New(rand.NewPCG(13, uint64(i)))
		for range 10 {
			r := leasehold.AcquireRequest{Holder: fmt.Sprint("w", i), TTL: e.long, Timeout: time.Minute, Priority: random.IntN(2)}
			parts := random.Perm(len(inside))[:1+random.IntN(3)]
			for _, n := range parts {
				r.Claims = append(r.Claims, leasehold.Claim{Pattern: fmt.Sprint("r", n), Mode: leasehold.Mode(random.IntN(2))})
			}
			if first := r.Claims[0]; len(parts) == 1 && first.Mode == leasehold.Exclusive {
				r.Resource, r.Claims = first.Pattern, nil
			}
			g, err := power[leasehold.Waiter](e).Wait(e.Context(), r)
			if err != nil {
				e.Errorf("Wait(%s) = %v, want a grant", requested(r), err)
				return
			}
			e.learn(g.ID)
			mode := func(k int) leasehold.Mode {
				if r.Claims == nil {
					return leasehold.Exclusive
				}
				return r.Claims[k].Mode
			}
			for k, n := range parts {
				if now := inside[n].Add(weight[mode(k)]); now > writer || now != writer && mode(k) == leasehold.Exclusive {
					e.Errorf("%d on r%d at the same time, among them a writer", now, n)
				}
			}
			runtime.Gosched()
			for k, n := range parts {
				inside[n].Add(-weight[mode(k)])
			}
			if err := e.releaseErr(g.Lease); err != nil {
				e.Errorf("Release(%s) = %v, want success", requested(r), err)
			}
		}
	})
	for n := range inside {
		e.free(fmt.Sprint("r", n))
	}
}

// waitersComeAndGo has waiters that leave at any moment, also at that of the
// grant. In the end nothing is left of them.
func waitersComeAndGo(e *env) {
	var inside atomic.Int32
	concurrently(16, func(i int) {
		random := rand.New(rand.NewPCG(11, uint64(i)))
		for range 20 {
			ctx, cancel := context.WithTimeout(e.Context(), time.Duration(random.IntN(3000))*time.Microsecond)
			r := e.request("r", fmt.Sprint("w", i))
			r.Timeout = time.Duration(1+random.IntN(3)) * time.Millisecond
			g, err := power[leasehold.Waiter](e).Wait(ctx, r)
			cancel()
			if err != nil {
				continue
			}
			e.learn(g.ID)
			if n := inside.Add(1); n != 1 {
				e.Errorf("%d holders at the same time", n)
			}
			runtime.Gosched()
			inside.Add(-1)
			if err := e.releaseErr(g.Lease); err != nil {
				e.Errorf("Release = %v, want success", err)
			}
		}
	})
	e.held(e.grantSoon(e.request("r", "after")).Lease)
}

func manyResources(e *env) {
	concurrently(20, func(i int) {
		random := rand.New(rand.NewPCG(7, uint64(i)))
		for range 25 {
			resource := fmt.Sprint("r", random.IntN(5))
			g, err := e.store.Acquire(e.Context(), e.request(resource, fmt.Sprint("h", i)))
			if errors.Is(err, leasehold.ErrHeld) {
				continue
			}
			if err != nil {
				e.Errorf("Acquire = %v, want a grant or ErrHeld", err)
				return
			}
			if s, err := e.store.Status(e.Context(), resource); err != nil || !s.Check(g.Token) {
				e.Errorf("Status(%q) = %s, %v; want token %d, which holds it", resource, describeStatus(s), err, g.Token)
			}
			if err := e.releaseErr(g.Lease); err != nil {
				e.Errorf("Release(%q) = %v, want success", resource, err)
			}
		}
	})
	for i := range 5 {
		e.free(fmt.Sprint("r", i))
	}
}

// renewAgainstBreak: whatever comes first, after the break nothing is active.
func renewAgainstBreak(e *env) {
	for range 20 {
		g := e.acquire("r", "h")
		concurrently(4, func(i int) {
			if i == 0 {
				_, _ = e.breakNow("r", "")
			} else {
				_ = e.renewErr(g.Lease)
			}
		})
		e.ended(g.Lease, leasehold.StateBroken)
	}
}

// forceIsOneStep: the records of one force-release stand together, whatever
// others do meanwhile.
func forceIsOneStep(e *env) {
	const leases = 20
	for i := range leases {
		e.acquire(fmt.Sprint("bad", i), "bad")
	}
	concurrently(9, func(i int) {
		if i == 0 {
			n, err := power[leasehold.HolderReleaser](e).ReleaseHolder(e.Context(), "bad", "")
			if err != nil || n != leases {
				e.Errorf("ReleaseHolder = %d, %v; want %d", n, err, leases)
			}
			return
		}
		for n := range 20 {
			g, err := e.store.Acquire(e.Context(), e.request(fmt.Sprint("good", i, "-", n), "good"))
			if err != nil {
				e.Errorf("Acquire = %v, want a grant", err)
			}
			e.learn(g.ID)
		}
	})
	forced := readHistory(e.TB, e.store, leasehold.HistoryRequest{Kind: leasehold.KindForceReleased})
	if len(forced) != leases || forced[leases-1].Seq-forced[0].Seq != leases-1 {
		e.Errorf("%d records of a force-release of %d leases, with others between them", len(forced), leases)
	}
}

func isLinearizable(e *env) {
	CheckHistory(e.TB, Hammer(e.TB, e.store, &LoadOptions{TTL: e.long}))
}
