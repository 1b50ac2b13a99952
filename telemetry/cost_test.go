package telemetry_test

import (
	"context"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/telemetry"
)

// constantStore answers at once, so that only the cost around it shows.
type constantStore struct {
	leasehold.Store
	grant leasehold.Grant
	err   error
}

func (s *constantStore) Acquire(context.Context, leasehold.AcquireRequest) (leasehold.Grant, error) {
	return s.grant, s.err
}

func (s *constantStore) Wait(context.Context, leasehold.AcquireRequest) (leasehold.Grant, error) {
	return s.grant, s.err
}

func (s *constantStore) Renew(context.Context, leasehold.RenewRequest) (leasehold.Lease, error) {
	return s.grant.Lease, s.err
}

func (s *constantStore) Release(context.Context, leasehold.ReleaseRequest) (leasehold.Lease, error) {
	return s.grant.Lease, s.err
}

func (s *constantStore) Status(context.Context, string) (leasehold.Status, error) {
	return leasehold.Status{}, s.err
}

func (s *constantStore) Break(context.Context, leasehold.BreakRequest) (leasehold.Lease, error) {
	return s.grant.Lease, s.err
}

// calls are operations of every shape.
var calls = []struct {
	name string
	call func(context.Context, leasehold.Store)
}{
	{"acquire", func(ctx context.Context, s leasehold.Store) {
		s.Acquire(ctx, leasehold.AcquireRequest{Resource: "a", Holder: "h"})
	}},
	{"wait", func(ctx context.Context, s leasehold.Store) {
		s.(leasehold.Waiter).Wait(ctx, leasehold.AcquireRequest{Resource: "a", Holder: "h"})
	}},
	{"renew", func(ctx context.Context, s leasehold.Store) {
		s.Renew(ctx, leasehold.RenewRequest{Resource: "a"})
	}},
	{"release", func(ctx context.Context, s leasehold.Store) {
		s.Release(ctx, leasehold.ReleaseRequest{Resource: "a"})
	}},
	{"status", func(ctx context.Context, s leasehold.Store) { s.Status(ctx, "a") }},
	{"break", func(ctx context.Context, s leasehold.Store) {
		s.(leasehold.Breaker).Break(ctx, leasehold.BreakRequest{Resource: "a"})
	}},
}

func newTelemetry(tb testing.TB, o *telemetry.Options) *telemetry.Telemetry {
	tb.Helper()
	t, err := telemetry.New(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { t.Close() })
	return t
}

// TestNothingConfiguredAllocatesNothing: the program has set no SDK.
func TestNothingConfiguredAllocatesNothing(t *testing.T) {
	wrapped := newTelemetry(t, nil).Store(&constantStore{}, "redis")
	for _, c := range calls {
		if n := testing.AllocsPerRun(1000, func() { c.call(context.Background(), wrapped) }); n != 0 {
			t.Errorf("%s: %v allocations more than the store alone, want none", c.name, n)
		}
	}
}

// TestManagerCostsNothingMore either: with no SDK it is the one without telemetry.
func TestManagerCostsNothingMore(t *testing.T) {
	use := func(m *leasehold.Manager) func() {
		return func() {
			h, err := m.TryAcquire(context.Background(), "a")
			if err != nil {
				t.Fatal(err)
			}
			if err := h.Release(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
	}
	inner := &constantStore{grant: leasehold.Grant{Lease: leasehold.Lease{Token: 1, TTL: leasehold.Infinite}}}
	bare, err := leasehold.NewManager(inner, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer bare.Close(t.Context())
	observed, err := newTelemetry(t, nil).NewManager(inner, "redis", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer observed.Close(t.Context())
	if without, with := testing.AllocsPerRun(1000, use(bare)), testing.AllocsPerRun(1000, use(observed)); with > without {
		t.Errorf("%v allocations with telemetry, %v without", with, without)
	}
}

// compare runs the benchmark as a part, and reports what one operation costs more
// than the part named bare, which comes first.
func compare(b *testing.B, bare map[string]float64, kind, name string, operations int, run func()) {
	b.Run(strings.TrimSuffix(kind+"/"+name, "/"), func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			run()
		}
		each := float64(b.Elapsed().Nanoseconds()) / float64(b.N*operations)
		if kind == "bare" {
			bare[name] = each
			return
		}
		b.ReportMetric(each-bare[name], "extra-ns/operation")
	})
}

// BenchmarkCost compares the store alone, /bare, with telemetry around it: /none
// without an SDK, /metrics with one for metrics, /traces with spans as well.
func BenchmarkCost(b *testing.B) {
	bare := make(map[string]float64)
	inner := &constantStore{}
	metrics := metric.NewMeterProvider(metric.WithReader(metric.NewManualReader()))
	for _, kind := range []struct {
		name  string
		store leasehold.Store
	}{
		{"bare", inner},
		{"none", newTelemetry(b, nil).Store(inner, "redis")},
		{"metrics", newTelemetry(b, &telemetry.Options{MeterProvider: metrics}).Store(inner, "redis")},
		{"traces", newTelemetry(b, &telemetry.Options{MeterProvider: metrics, TracerProvider: trace.NewTracerProvider()}).Store(inner, "redis")},
	} {
		for _, c := range calls {
			compare(b, bare, kind.name, c.name, 1, func() { c.call(context.Background(), kind.store) })
		}
	}
}
