package telemetry_test

import (
	"context"
	"testing"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/telemetry"
)

// TestOnlyACounterIsWanted: a view drops everything else, and an operation of a
// Manager is still counted once, from the first on.
func TestOnlyACounterIsWanted(t *testing.T) {
	const wanted = "leasing.acquisitions.succeeded"
	for _, o := range []telemetry.Options{{}, {LeaseName: true}} {
		reader := metric.NewManualReader()
		o.MeterProvider = metric.NewMeterProvider(metric.WithReader(reader), metric.WithView(func(i metric.Instrument) (metric.Stream, bool) {
			return metric.Stream{Name: i.Name, Aggregation: metric.AggregationDrop{}}, i.Name != wanted
		}))
		inner := &constantStore{grant: leasehold.Grant{Lease: leasehold.Lease{Token: 1, TTL: leasehold.Infinite}}}
		m, err := newTelemetry(t, &o).NewManager(inner, "redis", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close(context.Background())
		if _, err := m.TryAcquire(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		var all metricdata.ResourceMetrics
		if err := reader.Collect(t.Context(), &all); err != nil || len(all.ScopeMetrics) != 1 || len(all.ScopeMetrics[0].Metrics) != 1 {
			t.Fatalf("Collect = %v, %+v; want one metric", err, all)
		}
		got := all.ScopeMetrics[0].Metrics[0]
		sum, _ := got.Data.(metricdata.Sum[int64])
		if got.Name != wanted || !sum.IsMonotonic || len(sum.DataPoints) != 1 || sum.DataPoints[0].Value != 1 {
			t.Errorf("with lease names %v: %s = %+v, want 1", o.LeaseName, got.Name, got.Data)
		}
	}
}
