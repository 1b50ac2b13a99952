package storetest

import (
	"fmt"
	"math"
	"time"

	"github.com/leasehold/leasehold"
)

var invalidChecks = []check{
	{name: "Acquire", run: invalidAcquire},
	{name: "Wait", run: invalidWait, needs: []Capability{Waiting}},
	{name: "TTLOutsideTheStoresLimits", run: invalidForStore},
	{name: "Renew", run: invalidRenew},
	{name: "Release", run: invalidRelease},
	{name: "Status", run: invalidStatus},
	{name: "Break", run: invalidBreak, needs: []Capability{Breaking}},
	{name: "Change", run: invalidChange, needs: []Capability{Changing}},
	{name: "Transfer", run: invalidTransfer, needs: []Capability{Transfer}},
	{name: "Find", run: invalidFind, needs: []Capability{Finding}},
}

// invalid expects a refusal that names the field and says what is wrong.
func (e *env) invalid(call string, err error, field string) {
	e.Helper()
	if err := e.reason(call, err, leasehold.ReasonInvalid); err.Field != field || err.Problem == "" {
		e.Errorf("%s names the field %q with the problem %q, want the field %q", call, err.Field, err.Problem, field)
	}
}

// untouched runs f between two looks at the store: it must change nothing.
func (e *env) untouched(f func(held leasehold.Grant)) {
	e.Helper()
	g := e.acquire("held", "h")
	f(g)
	if l := e.held(g.Lease); l.Renewals != 0 || l.TTL != e.long || len(l.Metadata) != 0 || l.State != leasehold.StateActive {
		e.Errorf("after refusals the lease is %+v, want it as granted", l)
	}
	e.free("free")
	if e.h.can(Memory) && e.status("free").Lease != nil {
		e.Error("a refusal left a lease")
	}
	if e.h.can(Listing) {
		e.lists(leasehold.ListRequest{}, "held")
	}
	if e.h.can(History) {
		if n := len(ReadHistory(e.TB, e.store)); n != 1 {
			e.Errorf("refusals left %d history records", n-1)
		}
	}
	e.renew(g.Lease)
}

func invalidAcquire(e *env) {
	e.untouched(func(leasehold.Grant) {
		for _, bad := range badAcquires() {
			for _, resource := range []string{"free", "held"} {
				r := e.request(resource, "other")
				bad.spoil(&r)
				_, err := e.store.Acquire(e.Context(), r)
				e.invalid("Acquire with "+bad.what, err, bad.field)
			}
		}
	})
}

func invalidWait(e *env) {
	e.untouched(func(leasehold.Grant) {
		for _, bad := range badAcquires() {
			for _, resource := range []string{"free", "held"} {
				r := e.request(resource, "other")
				r.Timeout = time.Second
				bad.spoil(&r)
				_, err := power[leasehold.Waiter](e).Wait(e.Context(), r)
				e.invalid("Wait with "+bad.what, err, bad.field)
			}
		}
	})
}

func invalidForStore(e *env) {
	e.untouched(func(g leasehold.Grant) {
		for _, ttl := range []time.Duration{e.h.MinTTL - time.Millisecond, e.h.MaxTTL + time.Millisecond} {
			r := e.request("free", "other")
			r.TTL = ttl
			_, err := e.store.Acquire(e.Context(), r)
			e.invalid(fmt.Sprint("Acquire with ttl ", ttl), err, "ttl_seconds")
			_, err = e.store.Renew(e.Context(), leasehold.RenewRequest{ID: g.ID, Resource: "held", TTL: ttl})
			e.invalid(fmt.Sprint("Renew with ttl ", ttl), err, "ttl_seconds")
		}
		if e.h.MaxResource < leasehold.MaxResource {
			_, err := e.store.Acquire(e.Context(), e.request(longText(e.h.MaxResource+1), "h"))
			e.invalid("Acquire with a resource too long for the store", err, "resource")
		}
	})
}

func invalidRenew(e *env) {
	e.untouched(func(g leasehold.Grant) {
		for _, bad := range badMatches(g) {
			_, err := e.store.Renew(e.Context(), leasehold.RenewRequest{ID: bad.id, Resource: bad.resource, Holder: bad.holder, Token: bad.token})
			e.invalid("Renew with "+bad.what, err, bad.field)
		}
		for _, ttl := range badTTLs {
			_, err := e.store.Renew(e.Context(), leasehold.RenewRequest{ID: g.ID, Resource: "held", TTL: ttl})
			e.invalid(fmt.Sprint("Renew with ttl ", ttl), err, "ttl_seconds")
		}
	})
}

func invalidRelease(e *env) {
	e.untouched(func(g leasehold.Grant) {
		for _, bad := range badMatches(g) {
			_, err := e.store.Release(e.Context(), leasehold.ReleaseRequest{ID: bad.id, Resource: bad.resource, Holder: bad.holder, Token: bad.token})
			e.invalid("Release with "+bad.what, err, bad.field)
		}
		for _, why := range []string{longText(leasehold.MaxWhy + 1), "a\nb", "\xff"} {
			_, err := e.store.Release(e.Context(), leasehold.ReleaseRequest{ID: g.ID, Resource: "held", Why: why})
			e.invalid(fmt.Sprintf("Release with the reason %.10q", why), err, "reason")
		}
	})
}

func invalidStatus(e *env) {
	e.untouched(func(leasehold.Grant) {
		for what, name := range badNames(leasehold.MaxResource) {
			_, err := e.store.Status(e.Context(), name)
			e.invalid("Status of a resource "+what, err, "resource")
		}
	})
}

func invalidBreak(e *env) {
	e.untouched(func(leasehold.Grant) {
		try := func(what, field string, r leasehold.BreakRequest) {
			e.Helper()
			_, err := power[leasehold.Breaker](e).Break(e.Context(), r)
			e.invalid("Break with "+what, err, field)
		}
		for what, name := range badNames(leasehold.MaxResource) {
			try("a resource "+what, "resource", leasehold.BreakRequest{Resource: name})
		}
		for _, p := range []time.Duration{-1, -time.Hour, leasehold.MaxBreakPeriod + 1, math.MaxInt64} {
			try(fmt.Sprint("period ", p), "break_period_seconds", leasehold.BreakRequest{Resource: "held", Period: &p})
		}
		try("a reason too long", "reason", leasehold.BreakRequest{Resource: "held", Why: longText(leasehold.MaxWhy + 1)})
	})
}

func invalidChange(e *env) {
	e.untouched(func(g leasehold.Grant) {
		for _, bad := range badMatches(g) {
			_, err := e.changeErr(leasehold.ChangeRequest{ID: bad.id, Resource: bad.resource, Holder: bad.holder, Token: bad.token, Proposed: e.id()})
			e.invalid("Change with "+bad.what, err, bad.field)
		}
		_, err := e.changeErr(leasehold.ChangeRequest{ID: g.ID, Resource: "held"})
		e.invalid("Change to no id", err, "proposed_lease_id")
	})
}

func invalidTransfer(e *env) {
	e.untouched(func(g leasehold.Grant) {
		for _, bad := range badMatches(g) {
			_, err := e.transferErr(leasehold.TransferRequest{ID: bad.id, Resource: bad.resource, Holder: bad.holder, Token: bad.token, To: "new"})
			e.invalid("Transfer with "+bad.what, err, bad.field)
		}
		for what, name := range badNames(leasehold.MaxHolder) {
			_, err := e.transferErr(leasehold.TransferRequest{ID: g.ID, Resource: "held", To: name})
			e.invalid("Transfer to a holder "+what, err, "to_holder")
		}
		for what, m := range badMetadata() {
			_, err := e.transferErr(leasehold.TransferRequest{ID: g.ID, Resource: "held", To: "new", Metadata: m})
			e.invalid("Transfer with metadata with "+what, err, "metadata")
		}
	})
}

func invalidFind(e *env) {
	_, err := power[leasehold.Finder](e).Find(e.Context(), leasehold.ID{})
	e.reason("Find of no id", err, leasehold.ReasonInvalid, leasehold.ReasonNotFound)
}
