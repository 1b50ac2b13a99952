package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"slices"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/memory"
	"github.com/leasehold/leasehold/telemetry"
)

// A program that has set OpenTelemetry's global providers needs no more than this.
func ExampleTelemetry_NewManager() {
	store := memory.New()
	defer store.Close()

	t, err := telemetry.New(&telemetry.Options{Logger: logger()})
	if err != nil {
		log.Fatal(err)
	}
	m, err := t.NewManager(store, "memory", &leasehold.Options{Holder: "worker-1"})
	if err != nil {
		log.Fatal(err)
	}

	err = m.Do(context.Background(), "nightly-report", func(ctx context.Context, h *leasehold.Held) error {
		_, err := m.TryAcquire(ctx, "nightly-report")
		fmt.Println(errors.Is(err, leasehold.ErrHeld))
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	m.Close(context.Background())
	// Unordered output:
	// level=INFO msg="lease acquired" resource=nightly-report result=success
	// level=INFO msg="auto-renewal started" resource=nightly-report
	// level=INFO msg="lease held by another" resource=nightly-report result=conflict
	// true
	// level=INFO msg="lease released" resource=nightly-report result=success
	// level=INFO msg="auto-renewal stopped" resource=nightly-report
}

// logger writes a few of the attributes, for the example.
func logger() *slog.Logger {
	shown := []string{slog.LevelKey, slog.MessageKey, "resource", "result"}
	return slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if !slices.Contains(shown, a.Key) {
			return slog.Attr{}
		}
		return a
	}}))
}

// A program without a Manager wraps its store.
func ExampleTelemetry_Store() {
	reader := metric.NewManualReader() // a real program has an exporter
	t, err := telemetry.New(&telemetry.Options{MeterProvider: metric.NewMeterProvider(metric.WithReader(reader))})
	if err != nil {
		log.Fatal(err)
	}
	store := t.Store(memory.New(), "memory")
	defer store.Close()
	store.Acquire(context.Background(), leasehold.AcquireRequest{Resource: "a", Holder: "h"})

	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		log.Fatal(err)
	}
	for _, m := range all.ScopeMetrics[0].Metrics {
		if sum, ok := m.Data.(metricdata.Sum[int64]); ok && m.Name == "leasing.acquisitions.succeeded" {
			fmt.Println(m.Name, sum.DataPoints[0].Value)
		}
	}
	// Output: leasing.acquisitions.succeeded 1
}
