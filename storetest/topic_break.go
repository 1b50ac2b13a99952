package storetest

import (
	"time"

	"github.com/leasehold/leasehold"
)

var breakChecks = []check{
	{name: "FreesAtOnce", run: breakFrees, needs: []Capability{Breaking}},
	{name: "ZeroPeriodFreesAtOnce", run: breakZero, needs: []Capability{Breaking}},
	{name: "WithPeriod", run: breakWithPeriod, needs: []Capability{Breaking}},
	{name: "NeverLengthens", run: breakNeverLengthens, needs: []Capability{Breaking}},
	{name: "CanBeShortened", run: breakShortened, needs: []Capability{Breaking}},
	{name: "NeverBeyondTheEnd", run: breakWithinTTL, needs: []Capability{Breaking}},
	{name: "OfInfinite", run: breakInfinite, needs: []Capability{Breaking, Infinite}},
	{name: "OfNothing", run: breakNothing, needs: []Capability{Breaking}},
	{name: "TellsTheOwner", run: breakTellsOwner, needs: []Capability{Breaking}},
	{name: "IsRecorded", run: breakRecorded, needs: []Capability{Breaking, ExpiryRecords}},
}

// breakNow breaks without a period.
func (e *env) breakNow(resource, why string) (leasehold.Lease, error) {
	return power[leasehold.Breaker](e).Break(e.Context(), leasehold.BreakRequest{Resource: resource, Why: why})
}

// breakIn breaks with a period, or ends the check.
func (e *env) breakIn(resource string, period time.Duration) leasehold.Lease {
	e.Helper()
	l, err := power[leasehold.Breaker](e).Break(e.Context(), leasehold.BreakRequest{Resource: resource, Period: &period})
	if err != nil {
		e.Fatalf("Break(%q) in %v = %v, want success", resource, period, err)
	}
	e.sane("break", l)
	if !l.ID.IsZero() {
		e.Errorf("Break(%q) gives the lease id away", resource)
	}
	return l
}

func breakFrees(e *env) {
	g := e.acquire("r", "h")
	l, err := e.breakNow("r", "")
	if err != nil {
		e.Fatalf("Break = %v, want success", err)
	}
	if l.State != leasehold.StateBroken || l.Token != g.Token || l.Holder != "h" || l.Remaining != 0 || !l.ID.IsZero() {
		e.Errorf("Break = %+v, want the lease of h, broken, without its id", l)
	}
	e.ended(g.Lease, leasehold.StateBroken)
	e.acquire("r", "other")
}

func breakZero(e *env) {
	g := e.acquire("r", "h")
	if l := e.breakIn("r", 0); l.State != leasehold.StateBroken {
		e.Errorf("Break in 0s = %v, want broken", l.State)
	}
	e.ended(g.Lease, leasehold.StateBroken)
}

func breakWithPeriod(e *env) {
	g := e.acquire("r", "h")
	period := e.breakPeriod()
	l := e.breakIn("r", period)
	if l.State != leasehold.StateBreaking || !e.about(l.Remaining, period) || l.Token != g.Token {
		e.Errorf("Break in %v = %v with %v remaining, want breaking", period, l.State, l.Remaining)
	}
	if s := e.held(g.Lease); s.State != leasehold.StateBreaking || !e.about(s.Remaining, period) {
		e.Errorf("Status = %v with %v remaining, want breaking with %v", s.State, s.Remaining, period)
	}
	err := e.refused(e.request("r", "other"), leasehold.ReasonBreaking)
	if err.Current == nil || err.Current.Holder != "h" || !e.about(err.Current.Remaining, period) {
		e.Errorf("Acquire while breaking: Current = %+v", err.Current)
	}
	if err.RetryAfter > period {
		e.Errorf("Acquire while breaking: RetryAfter = %v, want at most %v", err.RetryAfter, period)
	}
	e.outlive(period)
	e.ended(g.Lease, leasehold.StateBroken)
	e.acquire("r", "other")
}

// breakPeriod is a period worth waiting for: whole seconds, as Azure has it.
func (e *env) breakPeriod() time.Duration {
	if e.h.Bubble {
		return 30 * time.Second
	}
	return time.Second
}

func breakNeverLengthens(e *env) {
	e.acquire("r", "h")
	e.breakIn("r", 10*time.Second)
	l := e.breakIn("r", 60*time.Second)
	if l.State != leasehold.StateBreaking || !e.about(l.Remaining, 10*time.Second) {
		e.Errorf("a second, longer Break = %v with %v remaining, want 10s", l.State, l.Remaining)
	}
}

func breakShortened(e *env) {
	g := e.acquire("r", "h")
	e.breakIn("r", 60*time.Second)
	if l := e.breakIn("r", 20*time.Second); !e.about(l.Remaining, 20*time.Second) {
		e.Errorf("a second, shorter Break leaves %v, want 20s", l.Remaining)
	}
	if _, err := e.breakNow("r", ""); err != nil {
		e.Errorf("Break at once while breaking = %v, want success", err)
	}
	e.ended(g.Lease, leasehold.StateBroken)
}

func breakWithinTTL(e *env) {
	g := e.grant(e.brief("r", "h"))
	if l := e.breakIn("r", leasehold.MaxBreakPeriod); !e.about(l.Remaining, e.short) {
		e.Errorf("Break in %v of a lease of %v leaves %v", leasehold.MaxBreakPeriod, e.short, l.Remaining)
	}
	e.outlive(e.short)
	e.ended(g.Lease, leasehold.StateBroken)
}

func breakInfinite(e *env) {
	r := e.request("r", "h")
	r.TTL = leasehold.Infinite
	g := e.grant(r)
	period := e.breakPeriod()
	if l := e.breakIn("r", period); !e.about(l.Remaining, period) {
		e.Errorf("Break in %v of an infinite lease leaves %v", period, l.Remaining)
	}
	e.outlive(period)
	e.ended(g.Lease, leasehold.StateBroken)
}

func breakNothing(e *env) {
	_, err := e.breakNow("r", "")
	e.reason("Break of a resource never leased", err, leasehold.ReasonNotFound)
	e.acquire("r", "h")
	e.breakIn("r", 0)
	_, err = e.breakNow("r", "")
	e.reason("Break of a broken lease", err, e.lost(leasehold.ReasonBroken)...)
	e.free("r")
}

func breakTellsOwner(e *env) {
	g := e.acquire("r", "h")
	e.breakIn("r", 0)
	e.reason("Renew", e.renewErr(g.Lease), e.lost(leasehold.ReasonBroken)...)
	e.reason("Release", e.releaseErr(g.Lease), e.lost(leasehold.ReasonBroken)...)
	e.ended(g.Lease, leasehold.StateBroken)
}

func breakRecorded(e *env) {
	e.acquire("r", "h")
	if _, err := e.breakNow("r", "stuck"); err != nil {
		e.Fatalf("Break = %v, want success", err)
	}
	if r := e.kinds("r", leasehold.KindAcquired, leasehold.KindBroken)[1]; r.Why != "stuck" || r.Holder != "h" || r.Before != leasehold.StateActive {
		e.Errorf("record of the break = %+v", r)
	}
	e.acquire("slow", "h")
	period := e.breakPeriod()
	e.breakIn("slow", period)
	e.outlive(period)
	e.acquire("slow", "next")
	records := e.kinds("slow", leasehold.KindAcquired, leasehold.KindBreaking, leasehold.KindBroken, leasehold.KindAcquired)
	if r := records[2]; r.Before != leasehold.StateBreaking || r.After != leasehold.StateBroken {
		e.Errorf("record of the break's end = %+v", r)
	}
}
