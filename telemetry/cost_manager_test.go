//go:build unix

package telemetry_test

import (
	"context"
	"slices"
	"syscall"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/telemetry"
)

// BenchmarkManager acquires and releases by a Manager, two operations, and reports
// what one of them costs more than without telemetry: none without an SDK, metrics
// with one; observed has a hook for events that does nothing. The kinds take turns
// and the figures are medians of processor time, with that of the Manager's
// goroutines: what else the machine does changes neither.
func BenchmarkManager(b *testing.B) {
	const pairs = 5000
	inner := &constantStore{grant: leasehold.Grant{Lease: leasehold.Lease{Token: 1, TTL: leasehold.Infinite}}}
	metrics := metric.NewMeterProvider(metric.WithReader(metric.NewManualReader()))
	kinds := []struct {
		name  string
		start func() (*leasehold.Manager, error)
	}{
		{"bare", func() (*leasehold.Manager, error) { return leasehold.NewManager(inner, nil) }},
		{"none", func() (*leasehold.Manager, error) { return newTelemetry(b, nil).NewManager(inner, "redis", nil) }},
		{"observed", func() (*leasehold.Manager, error) {
			return leasehold.NewManager(inner, &leasehold.Options{Observe: func(leasehold.Event) {}})
		}},
		{"metrics", func() (*leasehold.Manager, error) {
			return newTelemetry(b, &telemetry.Options{MeterProvider: metrics}).NewManager(inner, "redis", nil)
		}},
	}
	pair := make([]func(), len(kinds))
	for i, kind := range kinds {
		m, err := kind.start()
		if err != nil {
			b.Fatal(err)
		}
		defer m.Close(context.Background())
		pair[i] = func() {
			h, err := m.TryAcquire(context.Background(), "a")
			if err != nil {
				b.Fatal(err)
			}
			h.Release(context.Background())
		}
	}
	costs := make([][]time.Duration, len(kinds))
	for b.Loop() {
		for i := range kinds {
			used := processorTime()
			for range pairs {
				pair[i]()
			}
			costs[i] = append(costs[i], processorTime()-used)
		}
	}
	each := func(i int) float64 {
		slices.Sort(costs[i])
		return float64(costs[i][len(costs[i])/2]) / (2 * pairs)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(each(0), "bare-ns")
	for i, kind := range kinds {
		b.ReportMetric(testing.AllocsPerRun(1000, pair[i])/2, kind.name+"-allocs")
		if i > 0 {
			b.ReportMetric(each(i)-each(0), kind.name+"-extra-ns")
		}
	}
}

func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
