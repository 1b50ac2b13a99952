package telemetry_test

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/telemetry"
)

const childVariable = "LEASEHOLD_TEST_GLOBAL"

// TestGlobalProviders runs in a process of its own: the global providers can be set
// only once, and other tests need them unset.
func TestGlobalProviders(t *testing.T) {
	if os.Getenv(childVariable) != "" {
		useGlobalProviders(t)
		return
	}
	child := exec.Command(os.Args[0], "-test.run=^TestGlobalProviders$", "-test.count=1")
	child.Env = append(os.Environ(), childVariable+"=1")
	if out, err := child.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// useGlobalProviders sets the SDK after the store was wrapped and the Manager made.
func useGlobalProviders(t *testing.T) {
	inner := &constantStore{grant: leasehold.Grant{Lease: leasehold.Lease{Token: 1, TTL: leasehold.Infinite}}}
	tel, err := telemetry.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	s := tel.Store(inner, "redis")
	early, err := tel.NewManager(inner, "redis", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer early.Close(context.Background())
	s.Status(t.Context(), "unseen")

	spans, reader := tracetest.NewSpanRecorder(), metric.NewManualReader()
	otel.SetTracerProvider(trace.NewTracerProvider(trace.WithSpanProcessor(spans)))
	otel.SetMeterProvider(metric.NewMeterProvider(metric.WithReader(reader)))
	s.Status(t.Context(), "seen")
	for name, m := range map[string]*leasehold.Manager{"early": early, "late": newLate(t, tel, inner)} {
		if _, err := m.TryAcquire(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	seen := make(map[any]string)
	for _, span := range spans.Ended() {
		seen[attrs(span.Attributes())["lease.name"]] = span.Name()
	}
	if len(seen) != 3 || seen["seen"] != "Lease.Status" || seen["early"] != "Lease.TryAcquire" || seen["late"] != "Lease.TryAcquire" {
		t.Errorf("spans = %v, want those after the SDK was set", seen)
	}
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil || len(all.ScopeMetrics) != 1 {
		t.Fatalf("Collect = %v with %d scopes, want one", err, len(all.ScopeMetrics))
	}
}

func newLate(t *testing.T, tel *telemetry.Telemetry, s leasehold.Store) *leasehold.Manager {
	t.Helper()
	m, err := tel.NewManager(s, "redis", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close(context.Background()) })
	return m
}
