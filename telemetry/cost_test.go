package telemetry_test

import (
	"context"
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

// BenchmarkCost compares the store alone with telemetry around it: /none without an
// SDK, /metrics with one for metrics, /traces with spans as well. ns/op of /bare is
// what the benchmark itself costs.
func BenchmarkCost(b *testing.B) {
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
			b.Run(kind.name+"/"+c.name, func(b *testing.B) {
				b.ReportAllocs()
				ctx := context.Background()
				for b.Loop() {
					c.call(ctx, kind.store)
				}
			})
		}
	}
}
