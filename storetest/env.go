package storetest

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
)

// env is what a check works with: a store of its own, and methods that say in one
// line what must happen.
type env struct {
	testing.TB
	h     Harness
	store leasehold.Store

	short time.Duration // a ttl for leases that are meant to expire
	long  time.Duration // a ttl for leases that are not

	gaps   bool // the history of this check is incomplete on purpose
	closed bool // the check closed its store; there is nothing to audit

	mu      sync.Mutex
	secrets []leasehold.ID // every id in use, none of which may be seen
}

func newEnv(t testing.TB, h Harness) *env {
	// A coarse clock needs a ttl that is long beside its steps.
	e := &env{TB: t, h: h, short: min(h.MaxTTL, max(h.MinTTL, 3*time.Second, 4*h.Slack)), long: min(h.MaxTTL, 10*time.Minute)}
	if h.Bubble {
		e.short = min(h.MaxTTL, max(h.MinTTL, 10*time.Second))
	}
	e.store = h.Open(t)
	return e
}

// reopen goes on with another store on the same data.
func (e *env) reopen() {
	e.Helper()
	e.store = e.h.Reopen(e.TB, e.store)
}

// id makes an id that must stay secret.
func (e *env) id() leasehold.ID {
	id := leasehold.NewID()
	e.learn(id)
	return id
}

func (e *env) learn(id leasehold.ID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !id.IsZero() {
		e.secrets = append(e.secrets, id)
	}
}

// request is for a lease that lasts longer than the check.
func (e *env) request(resource, holder string) leasehold.AcquireRequest {
	return leasehold.AcquireRequest{Resource: resource, Holder: holder, TTL: e.long}
}

// brief is for a lease that is meant to expire.
func (e *env) brief(resource, holder string) leasehold.AcquireRequest {
	return leasehold.AcquireRequest{Resource: resource, Holder: holder, TTL: e.short}
}

// lasting is for a lease over hours and days: one without an end, because a
// durable store may store its clock every second while it has leases that end.
func (e *env) lasting(resource, holder string) leasehold.AcquireRequest {
	ttl := e.h.MaxTTL
	if e.h.can(Infinite) {
		ttl = leasehold.Infinite
	}
	return leasehold.AcquireRequest{Resource: resource, Holder: holder, TTL: ttl}
}

// pass lets time pass. Outside of a bubble it really waits: only the store's own
// clock ends a lease.
func (e *env) pass(d time.Duration) { time.Sleep(d) }

// outlive lets time pass until a lease with d remaining must have ended.
func (e *env) outlive(d time.Duration) { e.pass(d + e.h.Slack) }

// waitIdle waits until nothing runs any more, as far as that can be known: in a
// bubble.
func (e *env) waitIdle() {
	if e.h.Bubble {
		synctest.Wait()
	}
}

// eventually waits until cond holds; "at once" in a bubble means before any
// time has passed, elsewhere within a time that is enough on a busy machine.
func (e *env) eventually(what string, cond func() bool) {
	e.Helper()
	e.waitIdle()
	for deadline := time.Now().Add(30*time.Second + e.h.Slack); !cond(); {
		if e.h.Bubble || time.Now().After(deadline) {
			e.Fatalf("waited in vain: %s", what)
		}
		time.Sleep(5 * time.Millisecond) // polls a store in another process
	}
}

// moments is how long the store may take for what it does by itself.
func (e *env) moments() time.Duration { return 2*time.Second + e.h.Slack }

// atMost is how long may be measured of what takes d: outside of a bubble the machine
// may be busy.
func (e *env) atMost(d time.Duration) time.Duration {
	if e.h.Bubble {
		return d
	}
	return d + 10*time.Second
}

// about reports whether got is want, or as much less as real calls take.
func (e *env) about(got, want time.Duration) bool {
	allowed := e.tolerance()
	if want >= time.Minute { // the more time the more a busy machine may take of it
		allowed = e.atMost(allowed)
	}
	return got <= want && got >= want-allowed
}

// tolerance is the store's slack and the time that calls take on a busy
// machine. In a bubble, where calls take no time, it is mostly nothing.
func (e *env) tolerance() time.Duration {
	if e.h.Bubble {
		return e.h.Slack
	}
	return e.h.Slack + time.Second
}

// power returns the store as one of the optional interfaces.
func power[P any](e *env) P {
	e.Helper()
	p, ok := e.store.(P)
	if !ok {
		e.Fatalf("%T does not implement %T, and the harness says it does", e.store, (*P)(nil))
	}
	return p
}

func (e *env) cancelled() context.Context {
	ctx, cancel := context.WithCancel(e.Context())
	cancel()
	return ctx
}
