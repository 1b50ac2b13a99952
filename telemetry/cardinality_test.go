package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/soak"
	"github.com/leasehold/leasehold/store/memory"
	"github.com/leasehold/leasehold/telemetry"
)

// TestCardinality: 100,000 resources and holders add not one series, unless
// lease_name was asked for.
func TestCardinality(t *testing.T) {
	series := func(resources int, leaseName bool) int {
		reader := metric.NewManualReader()
		tel := newTelemetry(t, &telemetry.Options{
			LeaseName: leaseName, TracerProvider: noop.NewTracerProvider(),
			MeterProvider: metric.NewMeterProvider(metric.WithReader(reader), metric.WithCardinalityLimit(-1)),
		})
		inner := memory.New()
		defer inner.Close()
		useResources(t, tel.Store(inner, "memory"), resources)
		var all metricdata.ResourceMetrics
		if err := reader.Collect(t.Context(), &all); err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, scope := range all.ScopeMetrics {
			for _, m := range scope.Metrics {
				each(m, func(attribute.Set, float64) { n++ })
			}
		}
		return n
	}
	names := soak.Rounds(10_000, 100_000)
	one, many := series(1, false), series(names, false)
	if one != many {
		t.Errorf("%d series with %d resources and holders, %d with one", many, names, one)
	}
	t.Logf("%d series with one resource, %d with %d", one, many, names)
	// Acquire, conflict, renew and release of each of the 2,000 have their own.
	if few, more := series(1000, true), series(3000, true); more-few != 2000*perLeaseName {
		t.Errorf("with lease_name %d series with 1,000 resources and %d with 3,000, want %d more for each", few, more, perLeaseName)
	}
}

// perLeaseName is how many series useResources makes for a name: total, ended and
// duration of the acquisition, of the refused one and of the renewal; the release.
const perLeaseName = 10

func useResources(t *testing.T, s leasehold.Store, n int) {
	t.Helper()
	ctx := context.Background()
	for i := range n {
		r := leasehold.AcquireRequest{Resource: fmt.Sprint("resource-", i), Holder: fmt.Sprint("holder-", i), Metadata: map[string]string{"n": fmt.Sprint(i)}}
		g, err := s.Acquire(ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		r.Holder += "-second"
		if _, err := s.Acquire(ctx, r); leasehold.ReasonOf(err) != leasehold.ReasonHeld {
			t.Fatalf("Acquire = %v, want it held", err)
		}
		if _, err := s.Renew(ctx, leasehold.RenewRequest{Resource: r.Resource, ID: g.ID}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Release(ctx, leasehold.ReleaseRequest{Resource: r.Resource, ID: g.ID}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSets: requests pass whole; a lease of several is named in records and spans, and
// has one lease_name for all.
func TestSets(t *testing.T) {
	f := newFixture(t, &telemetry.Options{LeaseName: true})
	inner := memory.New()
	defer inner.Close()
	s := f.t.Store(inner, "memory")
	ctx := context.Background()
	var names []string
	for i := range 3 {
		claims := leasehold.Paths("repo", fmt.Sprintf("dir%d/**", i))
		g, err := s.Acquire(ctx, leasehold.AcquireRequest{Claims: claims, Holder: "a"})
		if err != nil || len(g.Claims) != 1 || g.Claims[0] != claims[0] {
			t.Fatalf("Acquire = %+v, %v; want the claims", g, err)
		}
		_, err = s.Acquire(ctx, leasehold.AcquireRequest{Claims: leasehold.Paths("repo", "*/x"), Holder: "b"})
		if e := (*leasehold.Error)(nil); !errors.As(err, &e) || e.Overlap == nil {
			t.Fatalf("Acquire = %v, want the overlap", err)
		}
		if _, err := s.Release(ctx, leasehold.ReleaseRequest{ID: g.ID, Note: "n"}); err != nil {
			t.Fatal(err)
		}
		names = append(names, g.Resource, leasehold.SetPrefix, g.Resource)
	}
	var logged []string
	for _, r := range f.records() {
		logged = append(logged, fmt.Sprint(r["resource"]))
	}
	if diff := cmp.Diff(names, logged); diff != "" {
		t.Errorf("the records name (-want +got):\n%s", diff)
	}
	for series := range f.series() {
		if strings.Contains(series, "lease_name=") && !strings.Contains(series, "lease_name="+leasehold.SetPrefix+",") {
			t.Errorf("%s: want one lease_name for all sets", series)
		}
	}
	if got := f.values()["leasing.acquisitions.succeeded{lease_name=__set__,provider=memory,result=success}"]; got != 3 {
		t.Errorf("%v acquisitions, want 3; all: %v", got, f.values())
	}
}
