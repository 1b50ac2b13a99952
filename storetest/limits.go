package storetest

import "github.com/leasehold/leasehold"

var limitChecks = []check{
	{name: "RefusesPastTheLimit", run: refusesPastLimit, needs: []Capability{MaxRenewals}},
	{name: "ZeroAllowsNone", run: zeroAllowsNone, needs: []Capability{MaxRenewals}},
	{name: "MinusOneLiftsIt", run: minusOneLifts},
	{name: "LeaseGoesOnAtTheLimit", run: goesOnAtLimit, needs: []Capability{MaxRenewals}},
	{name: "StartsAnewWithEachGrant", run: limitStartsAnew, needs: []Capability{MaxRenewals}},
}

// limited gets a short lease with a limit of renewals.
func (e *env) limited(resource string, most int) leasehold.Grant {
	e.Helper()
	r := e.brief(resource, "h")
	r.MaxRenewals = &most
	g := e.grant(r)
	if g.MaxRenewals != most {
		e.Errorf("Acquire.MaxRenewals = %d, want %d", g.MaxRenewals, most)
	}
	return g
}

func refusesPastLimit(e *env) {
	g := e.limited("r", 3)
	for i := range 3 {
		if l := e.renew(g.Lease); l.Renewals != i+1 || l.MaxRenewals != 3 {
			e.Errorf("renewal %d = %d of %d", i+1, l.Renewals, l.MaxRenewals)
		}
	}
	for range 2 {
		e.reason("Renew past the limit", e.renewErr(g.Lease), leasehold.ReasonMaxRenewals)
	}
	if l := e.held(g.Lease); l.Renewals != 3 {
		e.Errorf("Renewals after refusals = %d, want 3", l.Renewals)
	}
}

func zeroAllowsNone(e *env) {
	g := e.limited("r", 0)
	e.reason("Renew", e.renewErr(g.Lease), leasehold.ReasonMaxRenewals)
}

func minusOneLifts(e *env) {
	unlimited := leasehold.Unlimited
	r := e.request("r", "h")
	r.MaxRenewals = &unlimited
	g := e.grant(r)
	for range 20 {
		e.renew(g.Lease)
	}
}

func goesOnAtLimit(e *env) {
	g := e.limited("r", 1)
	e.renew(g.Lease)
	e.pass(e.short / 4)
	e.reason("Renew past the limit", e.renewErr(g.Lease), leasehold.ReasonMaxRenewals)
	l := e.held(g.Lease)
	if !e.about(l.Remaining, e.short-e.short/4) {
		e.Errorf("a refused renewal left %v remaining", l.Remaining)
	}
	e.release(g.Lease)
}

func limitStartsAnew(e *env) {
	first := e.limited("r", 1)
	e.renew(first.Lease)
	e.release(first.Lease)
	second := e.limited("r", 1)
	e.renew(second.Lease)
}
