package telemetry_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/chaos"
	"github.com/leasehold/leasehold/store/memory"
)

// newManager returns one on the store, named "redis", that is closed with the test.
func newManager(t *testing.T, f *fixture, s leasehold.Store, o *leasehold.Options) *leasehold.Manager {
	t.Helper()
	m, err := f.t.NewManager(s, "redis", o)
	if err != nil {
		t.Fatalf("NewManager = %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		m.Close(ctx) // tests that care have closed it
	})
	return m
}

func newMemory(t *testing.T) leasehold.Store {
	s := memory.New()
	t.Cleanup(func() { s.Close() })
	return s
}

// TestLifeOfALease follows one from the request that acquired it to its release.
func TestLifeOfALease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		m := newManager(t, f, newMemory(t), nil)
		ctx, parent := f.tracer.Tracer("caller").Start(t.Context(), "request")
		h, err := m.Acquire(ctx, "prod:eu:acme:billing:invoices")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		if got := f.values(); got["leasing.active_leases.current{provider=redis}"] != 1 || got["leasing.time_since_last_renewal{provider=redis}"] != 30 {
			t.Errorf("gauges = %v, want one lease, acquired 30 s ago", got)
		}
		time.Sleep(15 * time.Second) // renewed after 40
		if got := f.values()["leasing.time_since_last_renewal{provider=redis}"]; got != 5 {
			t.Errorf("time since the last renewal = %v, want 5", got)
		}
		if err := h.Renew(ctx); err != nil {
			t.Fatal(err)
		}
		if err := h.Release(ctx); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		of := "{provider=redis,result=success}"
		want := map[string]float64{
			"leasing.acquisitions.total" + of: 1, "leasing.acquisitions.succeeded" + of: 1, "leasing.acquisition.duration" + of: 1, "leasing.acquisition.wait" + of: 1,
			"leasing.renewals.total" + of: 2, "leasing.renewals.succeeded" + of: 2, "leasing.renewal.duration" + of: 2,
			"leasing.releases.total" + of: 1, "leasing.lease.duration" + of: 1,
		}
		for operation, n := range map[string]float64{"wait": 1, "renew": 2, "release": 1} {
			want["leasehold.store.operation.duration{operation="+operation+",provider=redis,result=success}"] = n
		}
		if diff := cmp.Diff(want, f.values()); diff != "" {
			t.Errorf("series -want +got:\n%s", diff)
		}
		if got := f.sum("leasing.lease.duration"); got != 45 {
			t.Errorf("lease duration = %v, want 45", got)
		}
		checkLifeSpans(t, f, parent.SpanContext())
		wantLog := []string{
			"DEBUG attempt", "INFO auto-renewal started", "INFO lease acquired", "DEBUG attempt", "DEBUG lease renewed",
			"DEBUG attempt", "DEBUG lease renewed", "DEBUG attempt", "INFO auto-renewal stopped", "INFO lease released",
		}
		if diff := cmp.Diff(sorted(wantLog), sorted(f.messages())); diff != "" {
			t.Errorf("log -want +got:\n%s", diff)
		}
		for _, r := range f.records() {
			if r["trace_id"] == nil || r["span_id"] == nil {
				t.Errorf("record without a trace: %v", r)
			}
		}
	})
}

func sorted(s []string) []string {
	s = slices.Clone(s)
	slices.Sort(s)
	return s
}

func checkLifeSpans(t *testing.T, f *fixture, parent trace.SpanContext) {
	t.Helper()
	acquire, auto := f.one("Lease.Acquire"), f.one("Lease.AutoRenewal")
	for _, name := range []string{"Lease.Acquire", "Lease.Renew", "Lease.Release"} {
		span := f.one(name)
		if span.Parent().SpanID() != parent.SpanID() || span.SpanKind() != trace.SpanKindClient {
			t.Errorf("%s: parent %v, kind %v; want the caller's span and client", name, span.Parent().SpanID(), span.SpanKind())
		}
		if name != "Lease.Acquire" && !linked(span, acquire) {
			t.Errorf("%s is not linked to the acquisition", name)
		}
		want := map[string]any{"lease.provider": "redis", "lease.result": "success", "lease.retry_count": int64(0),
			"lease.name": "prod:eu:acme:billing:invoices", "tenant.id": "acme", "lease.token": int64(1)}
		if name == "Lease.Acquire" {
			want["lease.duration"], want["lease.wait"] = 60.0, 0.0
		}
		if diff := cmp.Diff(want, attrs(span.Attributes())); diff != "" {
			t.Errorf("%s: attributes -want +got:\n%s", name, diff)
		}
		if len(span.Events()) != 1 || span.Events()[0].Name != "attempt" {
			t.Errorf("%s: events = %v, want one attempt", name, span.Events())
		}
	}
	if auto.Parent().IsValid() || auto.SpanContext().TraceID() == acquire.SpanContext().TraceID() || !linked(auto, acquire) {
		t.Errorf("the background renewal has the parent %v and the links %v; want a trace of its own, linked to the acquisition", auto.Parent(), auto.Links())
	}
}

func linked(from, to sdktrace.ReadOnlySpan) bool {
	return slices.ContainsFunc(from.Links(), func(l sdktrace.Link) bool { return l.SpanContext.SpanID() == to.SpanContext().SpanID() })
}

// TestRequestsCarryTheSpan: a store that calls a server sends the context of the
// operation's span.
func TestRequestsCarryTheSpan(t *testing.T) {
	f := newFixture(t, nil)
	inner := newScripted(nil)
	var sent trace.SpanContext
	inner.hook = func(ctx context.Context, _ string) error { sent = trace.SpanContextFromContext(ctx); return nil }
	if _, err := newManager(t, f, inner, nil).TryAcquire(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if span := f.one("Lease.TryAcquire").SpanContext(); sent.SpanID() != span.SpanID() {
		t.Errorf("the request was sent under %v, want %v", sent.SpanID(), span.SpanID())
	}
}

// TestBlockedAcquire: one span and one count, however many requests it takes.
func TestBlockedAcquire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		inner := newScripted(nil)
		requests := 0
		inner.hook = func(_ context.Context, operation string) error {
			time.Sleep(time.Second)
			if requests++; operation == "acquire" && requests < 4 {
				return &leasehold.Error{Reason: leasehold.ReasonHeld, Op: "acquire", Current: &leasehold.Lease{Holder: "other", Token: 8, Remaining: time.Hour}}
			}
			return nil
		}
		started := time.Now()
		waiting := make(chan float64)
		go func() {
			time.Sleep(2 * time.Second)
			waiting <- f.values()["leasing.waiters.current{provider=redis}"]
		}()
		m := newManager(t, f, plainStore{inner}, nil)
		if _, err := m.Acquire(t.Context(), "a", leasehold.AcquireOptions{Timeout: time.Minute}); err != nil {
			t.Fatal(err)
		}
		total := time.Since(started)
		if got := <-waiting; got != 1 {
			t.Errorf("waiters meanwhile = %v, want 1", got)
		}
		span := f.one("Lease.Acquire")
		got := attrs(span.Attributes())
		if got["lease.retry_count"] != int64(3) || got["lease.timeout"] != 60.0 || got["lease.wait"] != (total-time.Second).Seconds() {
			t.Errorf("attributes = %v, want 3 retries, a timeout of 60 s and a wait of %v", got, total-time.Second)
		}
		var attempts []string
		for _, e := range span.Events() {
			a := attrs(e.Attributes)
			attempts = append(attempts, fmt.Sprint(e.Name, a["lease.attempt"], a["lease.attempt.operation"], a["lease.attempt.duration"], a["lease.result"], a["lease.failure_reason"]))
		}
		held := "acquire1conflictlease_held"
		if diff := cmp.Diff([]string{"attempt1" + held, "attempt2" + held, "attempt3" + held, "attempt4acquire1success<nil>"}, attempts); diff != "" {
			t.Errorf("attempts -want +got:\n%s", diff)
		}
		values := f.values()
		of := "{provider=redis,result=success}"
		if values["leasing.acquisitions.total"+of] != 1 || values["leasing.acquisition.wait"+of] != 1 || values["leasing.waiters.current{provider=redis}"] != 0 ||
			values["leasing.acquisitions.total{provider=redis,result=conflict}"] != 0 {
			t.Errorf("series = %v, want one acquisition", values)
		}
		if f.sum("leasing.acquisition.duration") != 1000 || f.sum("leasing.acquisition.wait") != float64(total-time.Second)/1e6 {
			t.Errorf("duration %v, wait %v ms, want 1000 and %v", f.sum("leasing.acquisition.duration"), f.sum("leasing.acquisition.wait"), (total - time.Second).Milliseconds())
		}
	})
}

// TestAcquireOutcomes: each result of a Manager's acquisition, with its level.
func TestAcquireOutcomes(t *testing.T) {
	for _, c := range []struct {
		name, result, log string
		err               error
		acquire           func(context.Context, *leasehold.Manager) error
	}{
		{"conflict", "conflict", "INFO lease held by another", &leasehold.Error{Reason: leasehold.ReasonHeld}, tryAcquire},
		{"timeout", "timeout", "INFO lease not acquired in time", &leasehold.Error{Reason: leasehold.ReasonHeld}, acquire},
		{"cancelled", "timeout", "INFO lease not acquired in time", &leasehold.Error{Reason: leasehold.ReasonHeld}, func(ctx context.Context, m *leasehold.Manager) error {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return acquire(ctx, m)
		}},
		{"unavailable", "failure", "WARN acquire failed", &leasehold.Error{Reason: leasehold.ReasonUnavailable}, tryAcquire},
		{"forbidden", "failure", "ERROR acquire refused: check the configuration", &leasehold.Error{Reason: leasehold.ReasonForbidden}, acquire},
		{"invalid", "failure", "ERROR acquire refused: check the configuration", leasehold.Invalid("ttl", "is too long"), tryAcquire},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, nil)
				if err := c.acquire(t.Context(), newManager(t, f, newScripted(c.err), nil)); err == nil {
					t.Fatal("the acquisition succeeded")
				}
				of := "{provider=redis,result=" + c.result + "}"
				if v := f.values(); v["leasing.acquisitions.total"+of] != 1 || v["leasing.acquisitions.failed"+of] != 1 {
					t.Errorf("series = %v, want one with the result %s", v, c.result)
				}
				messages := f.messages()
				if messages[len(messages)-1] != c.log {
					t.Errorf("log = %v, want %q last", messages, c.log)
				}
				if c.name == "unavailable" && messages[0] != "ERROR store unavailable" {
					t.Errorf("log = %v, want the attempt as an error", messages)
				}
			})
		})
	}
}

func tryAcquire(ctx context.Context, m *leasehold.Manager) error {
	_, err := m.TryAcquire(ctx, "a")
	return err
}

func acquire(ctx context.Context, m *leasehold.Manager) error {
	_, err := m.Acquire(ctx, "a", leasehold.AcquireOptions{Timeout: time.Second})
	return err
}

// TestLostLease: the trace of the acquisition shows why.
func TestLostLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		s := chaos.Wrap(newMemory(t), nil)
		var seen []leasehold.Event
		m := newManager(t, f, s, &leasehold.Options{Observe: func(e leasehold.Event) { seen = append(seen, e) }})
		acquired := time.Now()
		h, err := m.TryAcquire(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		s.SetDown(true)
		<-h.Context().Done()
		synctest.Wait()
		failures := 0
		for _, e := range seen {
			if _, ok := e.(leasehold.RenewalFailed); ok {
				failures++
			}
		}
		values := f.values()
		for series, want := range map[string]float64{
			"leasing.leases_lost.total{provider=redis,result=lost}":       1,
			"leasing.lease.duration{provider=redis,result=lost}":          1,
			"leasing.renewals.failed{provider=redis,result=failure}":      float64(failures),
			"leasing.renewals.total{provider=redis,result=failure}":       float64(failures),
			"leasing.active_leases.current{provider=redis}":               0,
			"leasing.renewals.succeeded{provider=redis,result=success}":   0,
			"leasing.acquisitions.total{provider=redis,result=success}":   1,
			"leasing.time_since_last_renewal{provider=redis}":             0,
			"leasing.renewal.duration{provider=redis,result=failure}":     float64(failures),
			"leasing.acquisition.duration{provider=redis,result=success}": 1,
		} {
			if values[series] != want {
				t.Errorf("%s = %v, want %v", series, values[series], want)
			}
		}
		checkLostSpan(t, f, acquired, failures)
		checkLostLog(t, f, failures)
	})
}

func checkLostSpan(t *testing.T, f *fixture, acquired time.Time, failures int) {
	t.Helper()
	acquire, lost, renewals := f.one("Lease.TryAcquire"), f.one("Lease.Lost"), f.named("Lease.AutoRenewal")
	if lost.Parent().SpanID() != acquire.SpanContext().SpanID() || lost.SpanContext().TraceID() != acquire.SpanContext().TraceID() {
		t.Errorf("Lease.Lost has the parent %v, want the acquisition", lost.Parent())
	}
	if !linked(lost, renewals[len(renewals)-1]) {
		t.Error("Lease.Lost is not linked to the last renewal")
	}
	want := map[string]any{
		"lease.provider": "redis", "lease.result": "lost", "lease.failure_reason": "lease_expired", "lease.retry_count": int64(failures),
		"lease.name": "a", "lease.token": int64(1), "lease.last_success": acquired.UTC().Format(time.RFC3339Nano),
	}
	if diff := cmp.Diff(want, attrs(lost.Attributes())); diff != "" {
		t.Errorf("attributes -want +got:\n%s", diff)
	}
	if lost.Status().Code != codes.Error || !lost.StartTime().Equal(acquired) || lost.EndTime().Sub(acquired) != 54*time.Second || len(lost.Events()) != failures {
		t.Errorf("status %v, from %v for %v, %d events; want an error from the last success to the line, %d attempts",
			lost.Status(), lost.StartTime(), lost.EndTime().Sub(acquired), len(lost.Events()), failures)
	}
	for i, e := range lost.Events() {
		if a := attrs(e.Attributes); e.Name != "attempt" || a["lease.attempt"] != int64(i+1) || a["lease.failure_reason"] != "store_unavailable" || a["lease.result"] != "failure" {
			t.Errorf("event %d = %s %v", i, e.Name, a)
		}
	}
	for i, r := range renewals {
		if got := attrs(r.Attributes()); got["lease.retry_count"] != int64(i) || got["lease.failure_reason"] != "store_unavailable" || r.Status().Code != codes.Error || !linked(r, acquire) {
			t.Errorf("renewal %d = %v %v, linked to the acquisition: %t", i, got, r.Status(), linked(r, acquire))
		}
	}
}

func checkLostLog(t *testing.T, f *fixture, failures int) {
	t.Helper()
	count := make(map[string]int)
	acquire := f.one("Lease.TryAcquire").SpanContext()
	for _, r := range f.records() {
		message := fmt.Sprint(r["level"], " ", r["msg"])
		count[message]++
		if message == "ERROR lease lost" && (r["critical"] != true || r["reason"] != "lease_expired" || r["failures"] != float64(failures) || r["trace_id"] != acquire.TraceID().String()) {
			t.Errorf("record = %v", r)
		}
	}
	want := map[string]int{
		"DEBUG attempt": 1, "INFO lease acquired": 1, "INFO auto-renewal started": 1, "ERROR store unavailable": failures,
		"WARN renewal failed": failures, "WARN safety line near": 1, "ERROR lease lost": 1, "INFO auto-renewal stopped": 1,
	}
	if diff := cmp.Diff(want, count); diff != "" {
		t.Errorf("log -want +got:\n%s", diff)
	}
}

// TestBreaking: a warning at once, the loss at the end of the period.
func TestBreaking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		s := newMemory(t)
		m := newManager(t, f, s, nil)
		h, err := m.TryAcquire(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(39 * time.Second)
		period := 10 * time.Second
		if _, err := s.(leasehold.Breaker).Break(t.Context(), leasehold.BreakRequest{Resource: "a", Period: &period}); err != nil {
			t.Fatal(err)
		}
		<-h.Context().Done()
		synctest.Wait()
		want := []string{"WARN lease is being broken", "INFO auto-renewal stopped", "ERROR lease lost"}
		var got []string
		for _, message := range f.messages() {
			if slices.Contains(want, message) {
				got = append(got, message)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("log -want +got:\n%s", diff)
		}
		if got := attrs(f.one("Lease.AutoRenewal").Attributes()); got["lease.result"] != "conflict" || got["lease.failure_reason"] != "lease_breaking" {
			t.Errorf("the renewal = %v, want refused by the break", got)
		}
		if got := attrs(f.one("Lease.Lost").Attributes())["lease.failure_reason"]; got != "lease_broken" {
			t.Errorf("lost by %v, want lease_broken", got)
		}
	})
}

// TestReleaseEndsARenewal: a renewal that the release ended is no failure.
func TestReleaseEndsARenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		inner := newScripted(nil)
		inner.hook = func(ctx context.Context, operation string) error {
			if operation == "renew" {
				<-ctx.Done()
				return &leasehold.Error{Reason: leasehold.ReasonUnknown, Cause: ctx.Err()}
			}
			return nil
		}
		m := newManager(t, f, inner, nil)
		h, err := m.TryAcquire(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(21 * time.Second) // the scripted grant is for 30 s, so the renewal is under way
		if err := h.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for series, v := range f.values() {
			if strings.HasPrefix(series, "leasing.renewal") {
				t.Errorf("%s = %v, want nothing counted", series, v)
			}
		}
		if got := attrs(f.one("Lease.AutoRenewal").Attributes())["lease.failure_reason"]; got != "wait_cancelled" {
			t.Errorf("the renewal ended by %v, want wait_cancelled", got)
		}
	})
}

// TestFailedRelease: the lease ends by itself, and the log says so.
func TestFailedRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		s := chaos.Wrap(newMemory(t), nil)
		h, err := newManager(t, f, s, nil).TryAcquire(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		s.SetDown(true)
		if err := h.Release(t.Context()); err == nil {
			t.Fatal("released on a store that is down")
		}
		synctest.Wait()
		span := f.one("Lease.Release")
		if got := attrs(span.Attributes()); got["lease.result"] != "failure" || got["lease.retry_count"] != int64(len(span.Events())-1) || len(span.Events()) < 3 {
			t.Errorf("Lease.Release = %v with %d attempts", got, len(span.Events()))
		}
		values := f.values()
		if values["leasing.releases.total{provider=redis,result=failure}"] != 1 || values["leasing.lease.duration{provider=redis,result=failure}"] != 1 {
			t.Errorf("series = %v, want one failed release", values)
		}
		if !slices.Contains(f.messages(), "WARN release failed") {
			t.Errorf("log = %v, want a warning", f.messages())
		}
	})
}

// TestConfirmedGrant: the renewal that confirms a grant is an operation of its own,
// inside the acquisition.
func TestConfirmedGrant(t *testing.T) {
	f := newFixture(t, nil)
	inner := newScripted(nil)
	inner.grant.Waited = leasehold.WaitUnknown
	if _, err := newManager(t, f, inner, nil).Acquire(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if parent := f.one("Lease.Renew").Parent().SpanID(); parent != f.one("Lease.Acquire").SpanContext().SpanID() {
		t.Errorf("the renewal has the parent %v, want the acquisition", parent)
	}
}

// TestHooksOfTheCaller are called as well.
func TestHooksOfTheCaller(t *testing.T) {
	f := newFixture(t, nil)
	var started, ended, events atomic.Int32
	m := newManager(t, f, newScripted(nil), &leasehold.Options{
		Observe: func(leasehold.Event) { events.Add(1) },
		Trace: func(ctx context.Context, _ leasehold.Operation) (context.Context, func(uint64, error)) {
			started.Add(1)
			return ctx, func(uint64, error) { ended.Add(1) }
		},
	})
	if err := m.Do(t.Context(), "a", func(context.Context, *leasehold.Held) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if err := m.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if started.Load() != 2 || ended.Load() != 2 || events.Load() != 2 {
		t.Errorf("%d operations started, %d ended, %d events; want 2 each", started.Load(), ended.Load(), events.Load())
	}
}

// TestConfiguration: a Manager that cannot start is an error in the log.
func TestConfiguration(t *testing.T) {
	f := newFixture(t, nil)
	if _, err := f.t.NewManager(newScripted(nil), "redis", &leasehold.Options{SafetyThreshold: 2}); err == nil {
		t.Fatal("NewManager with a threshold of 2 succeeded")
	}
	if diff := cmp.Diff([]string{"ERROR manager not started: check its configuration"}, f.messages()); diff != "" {
		t.Errorf("log -want +got:\n%s", diff)
	}
}

// TestNotWrappedTwice: a store that has telemetry already is not counted twice.
func TestNotWrappedTwice(t *testing.T) {
	f := newFixture(t, nil)
	s := f.t.Store(f.t.Store(newScripted(nil), "redis"), "redis")
	if _, err := newManager(t, f, s, nil).TryAcquire(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if got := f.values()["leasing.acquisitions.total{provider=redis,result=success}"]; got != 1 {
		t.Errorf("acquisitions = %v, want 1", got)
	}
	f.one("Lease.TryAcquire")
}
