package telemetry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/leasehold/leasehold/internal/testbuffer"
	"github.com/leasehold/leasehold/telemetry"
)

// fixture is a Telemetry whose metrics, spans and logs can be read back.
type fixture struct {
	testing.TB
	t      *telemetry.Telemetry
	reader *metric.ManualReader
	spans  *tracetest.SpanRecorder
	tracer *trace.TracerProvider
	logs   *testbuffer.Buffer
}

func newFixture(tb testing.TB, o *telemetry.Options) *fixture {
	tb.Helper()
	f := &fixture{TB: tb, reader: metric.NewManualReader(), spans: tracetest.NewSpanRecorder(), logs: &testbuffer.Buffer{}}
	f.tracer = trace.NewTracerProvider(trace.WithSpanProcessor(f.spans))
	var options telemetry.Options
	if o != nil {
		options = *o
	}
	options.MeterProvider = metric.NewMeterProvider(metric.WithReader(f.reader))
	options.TracerProvider = f.tracer
	options.Version = "v1.2.3"
	options.Logger = slog.New(slog.NewJSONHandler(f.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	t, err := telemetry.New(&options)
	if err != nil {
		tb.Fatalf("New = %v", err)
	}
	f.t = t
	tb.Cleanup(func() {
		if err := t.Close(); err != nil {
			tb.Errorf("Close = %v", err)
		}
	})
	return f
}

// records returns the log so far.
func (f *fixture) records() (all []map[string]any) {
	f.Helper()
	for line := range strings.Lines(f.logs.String()) {
		var r map[string]any
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			f.Fatalf("log line %q: %v", line, err)
		}
		all = append(all, r)
	}
	return all
}

// messages returns level and message of each record.
func (f *fixture) messages() (all []string) {
	for _, r := range f.records() {
		all = append(all, fmt.Sprint(r["level"], " ", r["msg"]))
	}
	return all
}

// collect returns the metrics by name.
func (f *fixture) collect() map[string]metricdata.Metrics {
	f.Helper()
	var all metricdata.ResourceMetrics
	if err := f.reader.Collect(context.Background(), &all); err != nil {
		f.Fatalf("Collect = %v", err)
	}
	byName := make(map[string]metricdata.Metrics)
	for _, scope := range all.ScopeMetrics {
		if scope.Scope.Name != telemetry.ScopeName || scope.Scope.Version != "v1.2.3" {
			f.Errorf("the meter is %q %q", scope.Scope.Name, scope.Scope.Version)
		}
		for _, m := range scope.Metrics {
			byName[m.Name] = m
		}
	}
	return byName
}

// values returns every series that is not zero: the value of a counter or gauge,
// the count of a histogram.
func (f *fixture) values() map[string]float64 {
	values := make(map[string]float64)
	for series, v := range f.series() {
		if v != 0 {
			values[series] = v
		}
	}
	return values
}

// series returns all of them, as name{attribute=value,…}.
func (f *fixture) series() map[string]float64 {
	values := make(map[string]float64)
	for name, m := range f.collect() {
		each(m, func(set attribute.Set, v float64) { values[name+label(set)] = v })
	}
	return values
}

func each(m metricdata.Metrics, visit func(attribute.Set, float64)) {
	switch d := m.Data.(type) {
	case metricdata.Sum[int64]:
		for _, p := range d.DataPoints {
			visit(p.Attributes, float64(p.Value))
		}
	case metricdata.Gauge[int64]:
		for _, p := range d.DataPoints {
			visit(p.Attributes, float64(p.Value))
		}
	case metricdata.Gauge[float64]:
		for _, p := range d.DataPoints {
			visit(p.Attributes, p.Value)
		}
	case metricdata.Histogram[float64]:
		for _, p := range d.DataPoints {
			visit(p.Attributes, float64(p.Count))
		}
	default:
		panic(fmt.Sprintf("%s is a %T", m.Name, d))
	}
}

func label(set attribute.Set) string {
	var parts []string
	for _, kv := range set.ToSlice() {
		parts = append(parts, string(kv.Key)+"="+kv.Value.String())
	}
	slices.Sort(parts)
	return "{" + strings.Join(parts, ",") + "}"
}

// sum returns the sum of a histogram over all its series.
func (f *fixture) sum(name string) (total float64) {
	d, ok := f.collect()[name].Data.(metricdata.Histogram[float64])
	if !ok {
		return 0
	}
	for _, p := range d.DataPoints {
		total += p.Sum
	}
	return total
}

// named returns the ended spans of this name.
func (f *fixture) named(name string) (found []trace.ReadOnlySpan) {
	for _, s := range f.spans.Ended() {
		if s.Name() == name {
			found = append(found, s)
		}
	}
	return found
}

// one returns the only span of this name.
func (f *fixture) one(name string) trace.ReadOnlySpan {
	f.Helper()
	found := f.named(name)
	if len(found) != 1 {
		f.Fatalf("%d spans %s, want one; all: %v", len(found), name, f.spanNames())
	}
	return found[0]
}

func (f *fixture) spanNames() (names []string) {
	for _, s := range f.spans.Ended() {
		names = append(names, s.Name())
	}
	return names
}

// attrs returns attributes as a map.
func attrs(all []attribute.KeyValue) map[string]any {
	m := make(map[string]any)
	for _, kv := range all {
		m[string(kv.Key)] = kv.Value.AsInterface()
	}
	return m
}
