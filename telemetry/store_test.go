package telemetry_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/telemetry"
)

var scriptedRequest = leasehold.AcquireRequest{
	Resource: "prod:eu:acme:billing:invoices", Holder: "h", ID: leasehold.NewID(), TTL: 30 * time.Second, Timeout: 10 * time.Second,
}

func newScripted(err error) *scriptedStore {
	return &scriptedStore{err: err, grant: leasehold.Grant{Lease: leasehold.Lease{
		ID: scriptedRequest.ID, Resource: scriptedRequest.Resource, Holder: "h", Token: 9, TTL: 30 * time.Second, State: leasehold.StateActive,
	}}}
}

// outcomes are an error for each result.
var outcomes = []struct {
	result string
	err    error
}{
	{"success", nil},
	{"conflict", &leasehold.Error{Reason: leasehold.ReasonHeld, Op: "acquire", Current: &leasehold.Lease{Holder: "other", Token: 8}}},
	{"timeout", &leasehold.Error{Reason: leasehold.ReasonTimeout, Op: "acquire", Waited: 2 * time.Second}},
	{"failure", &leasehold.Error{Reason: leasehold.ReasonUnavailable, Op: "acquire"}},
	{"failure", errors.New("not of the contract")},
	{"lost", &leasehold.Error{Reason: leasehold.ReasonExpired, Op: "renew"}},
	{"lost", &leasehold.Error{Reason: leasehold.ReasonNotFound, Op: "renew"}},
}

// TestEveryCallAndOutcome checks series, span and log of each method with each
// outcome.
func TestEveryCallAndOutcome(t *testing.T) {
	for _, c := range scriptedCalls {
		for _, o := range outcomes {
			t.Run(c.operation+"/"+o.result, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := newFixture(t, nil)
					inner := newScripted(o.err)
					inner.hook = func(ctx context.Context, _ string) error {
						if !trace.SpanContextFromContext(ctx).IsValid() {
							t.Error("the store's context has no span")
						}
						time.Sleep(3 * time.Second)
						return o.err
					}
					inner.grant.Waited = 2 * time.Second
					got, err := c.call(t.Context(), f.t.Store(inner, "redis"))
					if err != o.err || err == nil && got != c.want {
						t.Errorf("%s = %v, %v; want %v, %v", c.operation, got, err, c.want, o.err)
					}
					if diff := cmp.Diff(wantSeries(c.operation, o.result), f.values()); diff != "" {
						t.Errorf("series -want +got:\n%s", diff)
					}
					checkSpan(t, f, c.span, c.operation, o.result, o.err, c.named)
					checkRecord(t, f, c.operation, o.result, o.err)
				})
			})
		}
	}
}

// wantSeries are those that one call changes.
func wantSeries(operation, result string) map[string]float64 {
	of := "{provider=redis,result=" + result + "}"
	want := map[string]float64{"leasehold.store.operation.duration{operation=" + operation + ",provider=redis,result=" + result + "}": 1}
	ended := "failed"
	if result == "success" {
		ended = "succeeded"
	}
	switch operation {
	case "wait":
		want["leasing.acquisition.wait"+of] = 1
		fallthrough
	case "acquire":
		want["leasing.acquisitions.total"+of] = 1
		want["leasing.acquisitions."+ended+of] = 1
		want["leasing.acquisition.duration"+of] = 1
	case "renew":
		want["leasing.renewals.total"+of] = 1
		want["leasing.renewals."+ended+of] = 1
		want["leasing.renewal.duration"+of] = 1
	case "release":
		want["leasing.releases.total"+of] = 1
	}
	return want
}

func checkSpan(t *testing.T, f *fixture, name, operation, result string, err error, named bool) {
	t.Helper()
	span := f.one(name)
	if span.SpanKind() != trace.SpanKindClient || span.InstrumentationScope().Name != telemetry.ScopeName || span.InstrumentationScope().Version != "v1.2.3" {
		t.Errorf("span of kind %v by %v", span.SpanKind(), span.InstrumentationScope())
	}
	wantStatus := codes.Unset
	if result != "success" && result != "conflict" {
		wantStatus = codes.Error
	}
	if span.Status().Code != wantStatus {
		t.Errorf("status = %v, want %v", span.Status(), wantStatus)
	}
	want := map[string]any{"lease.provider": "redis", "lease.result": result, "lease.retry_count": int64(0)}
	switch {
	case leasehold.ReasonOf(err) != "":
		want["lease.failure_reason"] = string(leasehold.ReasonOf(err))
	case err != nil:
		want["lease.failure_reason"] = "store_timeout"
	}
	got := attrs(span.Attributes())
	if named {
		want["lease.name"], want["tenant.id"] = scriptedRequest.Resource, "acme"
	}
	if operation == "wait" {
		want["lease.timeout"] = 10.0
		want["lease.wait"] = 3.0
		if err == nil || result == "timeout" {
			want["lease.wait"] = 2.0
		} else {
			want["lease.wait"] = 0.0
		}
	}
	for _, key := range []string{"lease.token", "lease.duration"} { // where the call knows them
		if err == nil && named && operation != "status" && got[key] == nil {
			t.Errorf("%s is missing", key)
		}
	}
	for key, value := range map[string]any{"lease.token": int64(9), "lease.duration": 30.0, "lease.name": scriptedRequest.Resource, "tenant.id": "acme"} {
		if _, has := got[key]; has {
			want[key] = value
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("attributes -want +got:\n%s", diff)
	}
}

// levels are those of the contract, where it names one.
var levels = map[string]string{
	"acquire/success": "INFO lease acquired", "wait/success": "INFO lease acquired", "release/success": "INFO lease released",
	"acquire/conflict": "INFO lease held by another", "wait/conflict": "INFO lease held by another",
	"acquire/timeout": "INFO lease not acquired in time", "wait/timeout": "INFO lease not acquired in time",
	"renew/success": "DEBUG lease renewed", "break/success": "INFO lease broken", "transfer/success": "INFO lease transferred",
	"release_holder/success": "INFO leases of a holder released",
	"renew/conflict":         "WARN renew failed", "renew/timeout": "WARN renew failed", "renew/lost": "WARN renew failed",
	"release/conflict": "WARN release failed", "release/timeout": "WARN release failed", "release/lost": "WARN release failed",
}

func checkRecord(t *testing.T, f *fixture, operation, result string, err error) {
	t.Helper()
	want, ok := levels[operation+"/"+result]
	switch {
	case errors.Is(err, leasehold.ErrUnavailable):
		want = "ERROR store unavailable"
	case result == "failure":
		want = "ERROR " + operation + " failed"
	case !ok && err == nil:
		want = "DEBUG " + operation
	case !ok:
		want = "DEBUG " + operation + " failed"
	}
	if diff := cmp.Diff([]string{want}, f.messages()); diff != "" {
		t.Fatalf("log -want +got:\n%s", diff)
	}
	span := f.spans.Ended()[0].SpanContext()
	r := f.records()[0]
	if r["trace_id"] != span.TraceID().String() || r["span_id"] != span.SpanID().String() || r["provider"] != "redis" || r["result"] != result {
		t.Errorf("record = %v, want the ids of span %v", r, span)
	}
}

// TestDurations: what is waited in the store's queue is no time of the request.
func TestDurations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		inner := newScripted(nil)
		inner.hook = func(context.Context, string) error { time.Sleep(3 * time.Second); return nil }
		inner.grant.Waited = 2 * time.Second
		s := f.t.Store(inner, "redis")
		for _, c := range scriptedCalls[:3] {
			if _, err := c.call(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		inner.grant.Waited = leasehold.WaitUnknown
		scriptedCalls[1].call(t.Context(), s)
		for name, want := range map[string]float64{
			"leasing.acquisition.duration":       2 * 1000, // nobody knows that of the last
			"leasing.acquisition.wait":           2000 + 3000,
			"leasing.renewal.duration":           3000,
			"leasehold.store.operation.duration": 12,
		} {
			if got := f.sum(name); got != want {
				t.Errorf("sum of %s = %v, want %v", name, got, want)
			}
		}
	})
}

// TestInstruments checks names, units and kinds, all there from the start.
func TestInstruments(t *testing.T) {
	f := newFixture(t, nil)
	s := f.t.Store(newScripted(nil), "redis")
	for _, c := range scriptedCalls[:2] {
		c.call(t.Context(), s)
	}
	m := newManager(t, f, newScripted(nil), nil)
	if err := m.Do(t.Context(), "a", func(ctx context.Context, h *leasehold.Held) error { return h.Renew(ctx) }); err != nil {
		t.Fatal(err)
	}
	if err := m.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := make(map[string]string)
	for name, m := range f.collect() {
		kind := "gauge"
		switch d := m.Data.(type) {
		case metricdata.Sum[int64]:
			if kind = "counter"; !d.IsMonotonic {
				t.Errorf("%s can fall", name)
			}
		case metricdata.Histogram[float64]:
			kind = "histogram"
		}
		got[name] = kind + " " + m.Unit
		if !strings.HasSuffix(m.Description, ".") {
			t.Errorf("%s has the description %q", name, m.Description)
		}
	}
	want := map[string]string{
		"leasing.acquisitions.total": "counter {acquisition}", "leasing.acquisitions.succeeded": "counter {acquisition}", "leasing.acquisitions.failed": "counter {acquisition}",
		"leasing.renewals.total": "counter {renewal}", "leasing.renewals.succeeded": "counter {renewal}", "leasing.renewals.failed": "counter {renewal}",
		"leasing.leases_lost.total": "counter {lease}", "leasing.releases.total": "counter {release}",
		"leasing.acquisition.duration": "histogram ms", "leasing.renewal.duration": "histogram ms", "leasing.acquisition.wait": "histogram ms",
		"leasing.lease.duration": "histogram s", "leasehold.store.operation.duration": "histogram s",
		"leasing.active_leases.current": "gauge {lease}", "leasing.waiters.current": "gauge {waiter}", "leasing.time_since_last_renewal": "gauge s",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("instruments -want +got:\n%s", diff)
	}
}

// TestSeriesFromTheStart: the first failure is an increase only if the series was
// there before.
func TestSeriesFromTheStart(t *testing.T) {
	f := newFixture(t, nil)
	f.t.Store(newScripted(nil), "sqlite")
	var want []string
	for _, r := range []string{"success", "failure", "conflict", "timeout", "lost"} {
		of := "{provider=sqlite,result=" + r + "}"
		want = append(want, "leasing.acquisitions.total"+of, "leasing.renewals.total"+of, "leasing.releases.total"+of)
		if r == "success" {
			want = append(want, "leasing.acquisitions.succeeded"+of, "leasing.renewals.succeeded"+of)
		} else {
			want = append(want, "leasing.acquisitions.failed"+of, "leasing.renewals.failed"+of)
		}
	}
	want = append(want, "leasing.leases_lost.total{provider=sqlite,result=lost}", "leasing.waiters.current{provider=sqlite}")
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(f.series()))); diff != "" {
		t.Errorf("series -want +got:\n%s", diff)
	}
	if len(f.values()) != 0 {
		t.Errorf("values = %v, want zeros", f.values())
	}
}

// TestKinds: only stores in the same process are internal.
func TestKinds(t *testing.T) {
	for provider, want := range map[string]trace.SpanKind{
		"memory": trace.SpanKindInternal, "sqlite": trace.SpanKindInternal,
		"remote": trace.SpanKindClient, "redis": trace.SpanKindClient, "azblob": trace.SpanKindClient, "cosmos": trace.SpanKindClient,
	} {
		f := newFixture(t, nil)
		f.t.Store(newScripted(nil), provider).Status(t.Context(), "a")
		if got := f.one("Lease.Status").SpanKind(); got != want {
			t.Errorf("%s: kind %v, want %v", provider, got, want)
		}
	}
}

// TestParent: a span continues the caller's trace, and infinite leases say so.
func TestParent(t *testing.T) {
	f := newFixture(t, nil)
	ctx, parent := f.tracer.Tracer("caller").Start(t.Context(), "request")
	inner := newScripted(nil)
	inner.grant.TTL = leasehold.Infinite
	f.t.Store(inner, "memory").Acquire(ctx, leasehold.AcquireRequest{Resource: "plain", Holder: "h", TTL: leasehold.Infinite})
	span := f.one("Lease.TryAcquire")
	if span.Parent().SpanID() != parent.SpanContext().SpanID() || span.SpanContext().TraceID() != parent.SpanContext().TraceID() {
		t.Errorf("parent = %v, want %v", span.Parent(), parent.SpanContext())
	}
	got := attrs(span.Attributes())
	if got["lease.duration"] != -1.0 || got["tenant.id"] != nil {
		t.Errorf("attributes = %v, want lease.duration -1 and no tenant", got)
	}
	traceparent, tracestate := telemetry.TraceContext(ctx)
	want := "00-" + parent.SpanContext().TraceID().String() + "-" + parent.SpanContext().SpanID().String() + "-01"
	if traceparent != want || tracestate != "" {
		t.Errorf("TraceContext = %q, %q; want %q", traceparent, tracestate, want)
	}
	if p, s := telemetry.TraceContext(t.Context()); p != "" || s != "" {
		t.Errorf("TraceContext without a span = %q, %q", p, s)
	}
}

// TestPowers: what the store inside lacks is unsupported and not recorded.
func TestPowers(t *testing.T) {
	f := newFixture(t, nil)
	s := f.t.Store(plainStore{newScripted(nil)}, "redis")
	basic := []string{"acquire", "renew", "release", "status"}
	for _, c := range scriptedCalls {
		if slices.Contains(basic, c.operation) {
			continue
		}
		_, err := c.call(t.Context(), s)
		if e := (*leasehold.Error)(nil); !errors.As(err, &e) || e.Reason != leasehold.ReasonUnsupported || e.Op != c.operation || e.Store != "redis" {
			t.Errorf("%s = %v, want ErrUnsupported of redis", c.operation, err)
		}
	}
	err := s.(leasehold.Watcher).Watch(t.Context(), leasehold.WatchRequest{}, nil)
	if !errors.Is(err, leasehold.ErrUnsupported) {
		t.Errorf("Watch = %v, want ErrUnsupported", err)
	}
	err = s.(leasehold.BatchWatcher).WatchBatches(t.Context(), leasehold.WatchRequest{}, nil)
	if !errors.Is(err, leasehold.ErrUnsupported) {
		t.Errorf("WatchBatches = %v, want ErrUnsupported", err)
	}
	if len(f.values()) != 0 || len(f.spans.Ended()) != 0 || f.logs.String() != "" {
		t.Errorf("recorded %v, %v, %v; nobody called a store", f.values(), f.spanNames(), f.logs)
	}
}

// batchStore is a store with a WatchBatches of its own.
type batchStore struct{ *scriptedStore }

func (batchStore) WatchBatches(_ context.Context, _ leasehold.WatchRequest, each func([]*leasehold.SharedNotice) error) error {
	return each([]*leasehold.SharedNotice{{}, {}})
}

func TestWatch(t *testing.T) {
	f := newFixture(t, nil)
	for _, c := range []struct {
		store leasehold.Store
		want  int
	}{{newScripted(nil), 1}, {batchStore{newScripted(nil)}, 2}} {
		got := 0
		s := f.t.Store(c.store, "memory")
		err := s.(leasehold.BatchWatcher).WatchBatches(t.Context(), leasehold.WatchRequest{}, func(n []*leasehold.SharedNotice) error {
			got = len(n)
			return nil
		})
		if err != nil || got != c.want {
			t.Errorf("WatchBatches = %v with %d notices, want %d", err, got, c.want)
		}
	}
}

// TestCloses: the store's error passes.
func TestCloses(t *testing.T) {
	broken := errors.New("broken")
	if err := newFixture(t, nil).t.Store(newScripted(broken), "memory").Close(); err != broken {
		t.Errorf("Close = %v, want %v", err, broken)
	}
}

// TestOptions refuses keys that would overwrite an attribute.
func TestOptions(t *testing.T) {
	for _, key := range []string{"", "provider", "result", "operation", "lease_name"} {
		if _, err := telemetry.New(&telemetry.Options{MetadataKeys: []string{key}}); !errors.Is(err, leasehold.ErrInvalid) {
			t.Errorf("New with the metadata key %q = %v, want ErrInvalid", key, err)
		}
	}
}

// TestChosenAttributes: metadata keys and lease_name become attributes only when
// asked for.
func TestChosenAttributes(t *testing.T) {
	f := newFixture(t, &telemetry.Options{LeaseName: true, MetadataKeys: []string{"team", "zone"}})
	r := scriptedRequest
	r.Resource, r.Metadata = "a", map[string]string{"team": "blue", "secret": "no"}
	f.t.Store(newScripted(nil), "redis").Acquire(t.Context(), r)
	want := map[string]float64{
		"leasehold.store.operation.duration{operation=acquire,provider=redis,result=success}":        1,
		"leasing.acquisition.duration{lease_name=a,provider=redis,result=success,team=blue,zone=}":   1,
		"leasing.acquisitions.succeeded{lease_name=a,provider=redis,result=success,team=blue,zone=}": 1,
		"leasing.acquisitions.total{lease_name=a,provider=redis,result=success,team=blue,zone=}":     1,
	}
	if diff := cmp.Diff(want, f.values()); diff != "" {
		t.Errorf("series -want +got:\n%s", diff)
	}
	got := attrs(f.one("Lease.TryAcquire").Attributes())
	if got["lease.metadata.team"] != "blue" || got["lease.metadata.zone"] != nil || got["lease.metadata.secret"] != nil {
		t.Errorf("attributes = %v, want the team only", got)
	}
}

// TestHealthChecksAreQuiet: probes come every few seconds.
func TestHealthChecksAreQuiet(t *testing.T) {
	f := newFixture(t, nil)
	r := scriptedRequest
	r.Resource = leasehold.HealthPrefix + ":x"
	f.t.Store(newScripted(nil), "redis").Acquire(t.Context(), r)
	if diff := cmp.Diff([]string{"DEBUG lease acquired"}, f.messages()); diff != "" {
		t.Errorf("log -want +got:\n%s", diff)
	}
}

// TestCountLeases: a server adds the leases that it keeps for others.
func TestCountLeases(t *testing.T) {
	f := newFixture(t, nil)
	f.t.CountLeases("sqlite", func() int64 { return 41 })
	f.t.CountLeases("sqlite", func() int64 { return 1 })
	if diff := cmp.Diff(map[string]float64{"leasing.active_leases.current{provider=sqlite}": 42}, f.values()); diff != "" {
		t.Errorf("series -want +got:\n%s", diff)
	}
}

// TestWaiters counts those that wait in the store's queue.
func TestWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		inner := newScripted(nil)
		inner.hook = func(context.Context, string) error { time.Sleep(time.Second); return nil }
		s := f.t.Store(inner, "redis")
		done := make(chan struct{})
		go func() {
			scriptedCalls[1].call(t.Context(), s)
			close(done)
		}()
		synctest.Wait()
		if got := f.values()["leasing.waiters.current{provider=redis}"]; got != 1 {
			t.Errorf("waiters = %v, want 1", got)
		}
		<-done
		if got := f.values()["leasing.waiters.current{provider=redis}"]; got != 0 {
			t.Errorf("waiters after the grant = %v, want 0", got)
		}
	})
}
