package storetest

import (
	"time"

	"github.com/leasehold/leasehold"
)

func settingMaxTTL(e *env) {
	most := e.h.MinTTL + 5*time.Second
	before := e.acquire("before", "h")
	e.set(leasehold.SettingMaxTTL, int64(most/time.Second))
	r := e.request("r", "h")
	r.TTL = most + time.Millisecond
	e.invalid("Acquire with a ttl above the setting", e.acquireErr(r), "ttl_seconds")
	if e.h.can(Waiting) {
		e.invalid("Wait with a ttl above the setting", e.start(r).failed(), "ttl_seconds")
	}
	e.free("r")
	r.TTL = most
	g := e.grant(r)
	_, err := e.store.Renew(e.Context(), leasehold.RenewRequest{ID: g.ID, Resource: "r", TTL: most + time.Millisecond})
	e.invalid("Renew with a ttl above the setting", err, "ttl_seconds")
	e.renewFor(g.Lease, most)
	if l := e.renew(before.Lease); l.TTL != e.long {
		e.Errorf("Renew of a lease from before = ttl %v, want its own %v", l.TTL, e.long)
	}
	if g := e.grant(leasehold.AcquireRequest{Resource: "default", Holder: "h"}); g.TTL != most {
		e.Errorf("Acquire without a ttl = %v, want the default cut to %v", g.TTL, most)
	}
	if e.h.can(Infinite) {
		e.grant(leasehold.AcquireRequest{Resource: "endless", Holder: "h", TTL: leasehold.Infinite})
	}
	e.set(leasehold.SettingMaxTTL, 3_153_600_000)
	r.Resource, r.TTL = "century", leasehold.MaxTTL
	e.grant(r)
}

func (e *env) acquireErr(r leasehold.AcquireRequest) error {
	_, err := e.store.Acquire(e.Context(), r)
	return err
}

// settingMaxLeases counts live leases only: those that have ended, in whatever
// way, make room at once.
func settingMaxLeases(e *env) {
	e.limited3(leasehold.SettingMaxLeases, func(string) string { return "" })
}

func settingMaxLeasesCaller(e *env) {
	e.limited3(leasehold.SettingMaxLeasesCaller, func(string) string { return "caller" })
}

// limited3 sees a limit of three live leases kept. Caller says whose the lease
// on a resource is; a store behind a server has one caller only.
func (e *env) limited3(key string, caller func(resource string) string) {
	e.Helper()
	request := func(resource string) leasehold.AcquireRequest {
		r := e.request(resource, "h")
		r.Caller = caller(resource)
		return r
	}
	full := func(resource string) {
		e.Helper()
		err := e.refused(request(resource), leasehold.ReasonTooMany)
		if err.Field != key || err.Problem != "3" {
			e.Errorf("too_many_leases names %s %s, want %s 3", err.Field, err.Problem, key)
		}
		e.free(resource)
	}
	e.set(key, 3)
	a, b := e.grant(request("a")), e.grant(request("b"))
	short := request("short")
	short.TTL = e.short
	e.grant(short)
	full("d")
	e.refused(e.request("a", "other"), leasehold.ReasonHeld) // not too many: that one is in the way
	e.renew(a.Lease)
	e.release(a.Lease)
	d := e.grant(request("d"))
	full("e")
	e.outlive(e.short)
	e.grant(request("e")) // what has expired does not count, swept or not
	full("f")
	if e.h.can(Breaking) {
		e.breakNow("b", "")
		b = e.grant(request("b"))
		full("f")
	}
	e.set(key, 1)
	e.renew(d.Lease) // whatever is there stays
	e.release(d.Lease)
	e.release(b.Lease)
	e.refused(request("f"), leasehold.ReasonTooMany)
	e.set(key, leasehold.Unlimited)
	e.grant(request("f"))
	e.grant(request("g"))
}

// limitsAndQueue: who waits holds nothing; a hand-over in the queue makes no
// lease more.
func limitsAndQueue(e *env) {
	e.set(leasehold.SettingMaxLeases, 1)
	g := e.acquire("r", "h")
	w := e.wait(e.request("r", "w"))
	e.release(g.Lease)
	got := w.atOnce()
	e.reason("Wait for a free resource", e.start(e.request("free", "w")).failed(), leasehold.ReasonTooMany)
	e.release(got.Lease)
	e.acquire("free", "h")
}

// limitsSurvive: a restart gives nobody room.
func limitsSurvive(e *env) {
	r := e.request("r", "h")
	r.Caller = "caller"
	g := e.grant(r)
	e.set(leasehold.SettingMaxLeases, 2)
	e.set(leasehold.SettingMaxLeasesCaller, 1)
	e.reopen()
	r.Resource = "s"
	if err := e.refused(r, leasehold.ReasonTooMany); err.Field != leasehold.SettingMaxLeasesCaller {
		e.Errorf("too_many_leases names %s, want %s", err.Field, leasehold.SettingMaxLeasesCaller)
	}
	e.release(g.Lease)
	e.grant(r)
}
