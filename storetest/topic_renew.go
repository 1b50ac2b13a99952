package storetest

import (
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/soak"
)

var renewChecks = []check{
	{name: "RestartsTheTTL", run: renewRestarts},
	{name: "KeepsAlive", run: renewKeepsAlive},
	{name: "SetsANewTTL", run: renewSetsTTL},
	{name: "CanShorten", run: renewShortens},
	{name: "ToAndFromInfinite", run: renewInfinite, needs: []Capability{Infinite}},
	{name: "MustMatch", run: renewMustMatch},
	{name: "UnknownIDIsNotFound", run: renewUnknown},
	{name: "WhileBreakingIsRefused", run: renewBreaking, needs: []Capability{Breaking}},
	{name: "ADayOfRenewals", run: renewForADay, simulated: true},
}

func renewRestarts(e *env) {
	g := e.grant(e.brief("r", "h"))
	e.pass(e.short / 4)
	l := e.renew(g.Lease)
	if l.TTL != e.short || !e.about(l.Remaining, e.short) || l.Renewals != 1 {
		e.Errorf("Renew = ttl %v, %v remaining, %d renewals; want %v anew and 1", l.TTL, l.Remaining, l.Renewals, e.short)
	}
	if !l.RenewedAt.After(l.AcquiredAt) || !l.AcquiredAt.Equal(g.AcquiredAt) {
		e.Errorf("Renew = acquired at %v, renewed at %v; want %v and later", l.AcquiredAt, l.RenewedAt, g.AcquiredAt)
	}
	if s := e.held(g.Lease); s.Renewals != 1 || !e.about(s.Remaining, e.short) {
		e.Errorf("Status after Renew = %+v", s)
	}
}

func renewKeepsAlive(e *env) {
	g := e.grant(e.brief("r", "h"))
	for i := range 3 {
		e.pass(e.short / 2)
		if l := e.renew(g.Lease); l.Renewals != i+1 {
			e.Errorf("renewal %d counts %d", i+1, l.Renewals)
		}
	}
	e.refused(e.request("r", "other"), leasehold.ReasonHeld)
	e.outlive(e.short)
	e.acquire("r", "other")
}

func renewSetsTTL(e *env) {
	g := e.grant(e.brief("r", "h"))
	if l := e.renewFor(g.Lease, e.long); l.TTL != e.long || !e.about(l.Remaining, e.long) {
		e.Errorf("Renew with ttl %v = ttl %v, %v remaining", e.long, l.TTL, l.Remaining)
	}
	if l := e.renew(g.Lease); l.TTL != e.long {
		e.Errorf("the next Renew = ttl %v, want it to keep %v", l.TTL, e.long)
	}
	odd := e.h.MinTTL + 1_500*time.Microsecond
	if l := e.renewFor(g.Lease, odd); l.TTL != e.h.MinTTL+time.Millisecond {
		e.Errorf("Renew with ttl %v = ttl %v, want whole milliseconds", odd, l.TTL)
	}
}

func renewShortens(e *env) {
	g := e.acquire("r", "h")
	e.renewFor(g.Lease, e.short)
	e.outlive(e.short)
	e.free("r")
	e.acquire("r", "other")
}

func renewInfinite(e *env) {
	g := e.acquire("r", "h")
	if l := e.renewFor(g.Lease, leasehold.Infinite); l.Remaining != leasehold.Infinite {
		e.Errorf("Renew for ever = %v remaining", l.Remaining)
	}
	if l := e.renewFor(g.Lease, e.short); !e.about(l.Remaining, e.short) {
		e.Errorf("Renew of an infinite lease for %v = %v remaining", e.short, l.Remaining)
	}
	e.outlive(e.short)
	e.free("r")
}

// mismatches are the right id with something else that is wrong.
func mismatches(l leasehold.Lease) []mismatch {
	return []mismatch{
		{"holder", leasehold.ReasonHolderMismatch, l.Resource, "somebody else", 0},
		{"token", leasehold.ReasonTokenMismatch, l.Resource, "", l.Token + 1},
		{"older token", leasehold.ReasonTokenMismatch, l.Resource, l.Holder, max(l.Token-1, 1)},
		{"resource", leasehold.ReasonNotFound, l.Resource + "2", "", 0},
	}
}

type mismatch struct {
	what     string
	want     leasehold.Reason
	resource string
	holder   string
	token    uint64
}

func renewMustMatch(e *env) {
	e.release(e.acquire("r", "before").Lease) // so that no token is the first one
	g := e.acquire("r", "h")
	for _, m := range mismatches(g.Lease) {
		_, err := e.store.Renew(e.Context(), leasehold.RenewRequest{ID: g.ID, Resource: m.resource, Holder: m.holder, Token: m.token})
		e.reason("Renew with a wrong "+m.what, err, m.want)
	}
	if l := e.held(g.Lease); l.Renewals != 0 {
		e.Errorf("%d renewals after calls that did not match", l.Renewals)
	}
	_, err := e.store.Renew(e.Context(), leasehold.RenewRequest{ID: g.ID, Resource: "r", Holder: "h", Token: g.Token})
	if err != nil {
		e.Errorf("Renew with holder and token = %v, want success", err)
	}
}

func renewUnknown(e *env) {
	g := e.acquire("r", "h")
	_, err := e.store.Renew(e.Context(), leasehold.RenewRequest{ID: e.id(), Resource: "r"})
	e.reason("Renew with a wrong id", err, leasehold.ReasonNotFound)
	_, err = e.store.Renew(e.Context(), leasehold.RenewRequest{ID: e.id(), Resource: "nowhere"})
	e.reason("Renew where nothing is", err, leasehold.ReasonNotFound)
	if l := e.held(g.Lease); l.Renewals != 0 {
		e.Error("a wrong id renewed the lease")
	}
	e.free("nowhere")
}

func renewBreaking(e *env) {
	g := e.acquire("r", "h")
	e.breakIn("r", 10*time.Second)
	err := e.reason("Renew while breaking", e.renewErr(g.Lease), leasehold.ReasonBreaking)
	if !e.about(err.Remaining, 10*time.Second) {
		e.Errorf("Renew while breaking: Remaining = %v, want 10s", err.Remaining)
	}
}

// renewForADay renews for a quarter of an hour only where every renewal goes to a
// disk.
func renewForADay(e *env) {
	day := time.Duration(soak.Rounds(1, 24)) * time.Hour
	if e.h.Reopen != nil {
		day = 15 * time.Minute
	}
	g := e.grant(e.brief("r", "h"))
	const step = 7 * time.Second
	for passed := time.Duration(0); passed < day; passed += step {
		e.pass(step)
		if l := e.renew(g.Lease); l.Remaining != e.short {
			e.Fatalf("Renew after %v = %v remaining, want %v", passed, l.Remaining, e.short)
		}
	}
	e.pass(e.short - 1)
	e.held(g.Lease)
	e.pass(1)
	e.reason("Renew", e.renewErr(g.Lease), e.lost(leasehold.ReasonExpired)...)
}

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
	r := e.request(resource, "h")
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
	if !e.about(l.Remaining, g.TTL-e.short/4) {
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
