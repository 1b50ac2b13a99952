// Package telemetry reports what stores and Managers do through OpenTelemetry and
// log/slog: metrics, spans and logs, never with a lease id in them. It uses the
// API of OpenTelemetry only; the program chooses the SDK and the exporters. Where
// it has chosen none, nothing is recorded and an operation costs some nanoseconds
// more.
//
// An application observes its Manager:
//
//	t, err := telemetry.New(&telemetry.Options{Logger: slog.Default()})
//	…
//	m, err := t.NewManager(store, "redis", nil)
//
// A server, or a program that uses a Store without a Manager, wraps the store:
//
//	store = t.Store(store, "sqlite")
//
// # Metrics
//
// Counters leasing.acquisitions.total, .succeeded and .failed, leasing.renewals.total,
// .succeeded and .failed, leasing.releases.total, leasing.leases_lost.total.
// Histograms leasing.acquisition.duration, leasing.acquisition.wait and
// leasing.renewal.duration (ms), leasing.lease.duration (s), and
// leasehold.store.operation.duration (s) with every call of the store. Gauges
// leasing.active_leases.current, leasing.waiters.current and
// leasing.time_since_last_renewal (s). An acquisition or release by a Manager is
// counted once, whatever the number of its requests.
//
// Their attributes are provider and result: success, failure (the store failed or
// the request breaks a rule), conflict (held by another), timeout (the wait ended
// without a grant) or lost (the lease has ended or is not known any more).
//
// # Spans
//
// Lease.Acquire (waits), Lease.TryAcquire, Lease.Renew, Lease.AutoRenewal,
// Lease.Release, Lease.Break and so on for each call of the store. One operation of
// a Manager is one span, with an event for each of its requests. A background
// renewal is the root of a trace of its own, linked to the span that acquired the
// lease. A lost lease is a span Lease.Lost in the trace of the acquisition, with
// the reason, the last success and an event for each failed renewal since.
package telemetry

import (
	"context"
	"log/slog"
	"reflect"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/leasehold/leasehold"
)

// ScopeName is the name of the meter and of the tracer.
const ScopeName = "github.com/leasehold/leasehold"

// Options configure a Telemetry. Nil and the zero value are fine.
type Options struct {
	// MeterProvider and TracerProvider record. Default: the global ones, for
	// stores also where the program sets them later.
	MeterProvider  metric.MeterProvider
	TracerProvider trace.TracerProvider

	// Version is that of the meter and of the tracer. Default: the version of
	// this module, where the binary knows it.
	Version string

	// LeaseName adds the attribute lease_name to the metrics leasing.*. It is off
	// by default: every resource becomes a series of its own.
	LeaseName bool

	// MetadataKeys are keys of the leases' metadata that become attributes of
	// those metrics, and, with lease.metadata. in front, of spans. Choose keys
	// that have few values.
	MetadataKeys []string

	// Logger gets a record of what happens, with trace_id and span_id. Default:
	// none.
	Logger *slog.Logger
}

// Telemetry observes stores and Managers. All methods may be called
// concurrently. One is enough for a program.
type Telemetry struct {
	options  Options
	metrics  *instruments
	measured atomic.Bool // something records metrics for sure
	callback metric.Registration
	tracer   trace.Tracer         // nil: no spans
	unset    trace.TracerProvider // the global one, while no program has set it
	logger   *slog.Logger         // nil: no logs

	mu        sync.Mutex // guards the rest
	providers map[string]*provider
}

// New makes a Telemetry. It fails with ErrInvalid if a metadata key is the name of
// another attribute, or with the error of the MeterProvider.
func New(options *Options) (*Telemetry, error) {
	t := &Telemetry{providers: make(map[string]*provider)}
	if options != nil {
		t.options = *options
		t.options.MetadataKeys = slices.Clone(options.MetadataKeys)
	}
	o := &t.options
	for _, key := range o.MetadataKeys {
		if key == "" || slices.Contains([]string{keyProvider, keyResult, keyOperation, keyLeaseName}, key) {
			return nil, leasehold.Invalid("MetadataKeys", "has %.64q, which is no name or that of another attribute; choose another key", key)
		}
	}
	if o.Version == "" {
		o.Version = moduleVersion()
	}
	if o.Logger != nil {
		t.logger = slog.New(Handler(o.Logger.Handler()))
	}
	t.startTracer()
	return t, t.startMeter()
}

func (t *Telemetry) startTracer() {
	p := t.options.TracerProvider
	if p == nil {
		p = otel.GetTracerProvider()
	}
	switch p.(type) {
	case noop.TracerProvider:
		return
	}
	if isPlaceholder(p) {
		t.unset = p
	}
	t.tracer = p.Tracer(ScopeName, trace.WithInstrumentationVersion(t.options.Version))
}

func (t *Telemetry) startMeter() error {
	p := t.options.MeterProvider
	if p == nil {
		p = otel.GetMeterProvider()
	}
	_, off := p.(metricnoop.MeterProvider)
	t.measured.Store(!off && !isPlaceholder(p))
	meter := p.Meter(ScopeName, metric.WithInstrumentationVersion(t.options.Version))
	var err error
	if t.metrics, err = newInstruments(meter, t.dynamic()); err != nil {
		return err
	}
	t.callback, err = meter.RegisterCallback(t.observe, t.metrics.read()...)
	return err
}

// Close ends the callbacks of the gauges and counters: what was not exported before
// is not any more. Stores and Managers work on.
func (t *Telemetry) Close() error { return t.callback.Unregister() }

// CountLeases adds what count returns to the gauge leasing.active_leases.current:
// for a server, which keeps leases for others. Leases of Managers are counted
// without it. Count must be quick and must not call the Telemetry.
func (t *Telemetry) CountLeases(provider string, count func() int64) {
	p := t.provider(provider)
	t.mu.Lock()
	defer t.mu.Unlock()
	p.counts = append(p.counts, count)
}

// isPlaceholder reports whether this is a global provider that OpenTelemetry starts
// with. The spans of the tracer's cost memory and record nothing.
func isPlaceholder(p any) bool {
	t := reflect.TypeOf(p)
	return t.Kind() == reflect.Pointer && t.Elem().PkgPath() == "go.opentelemetry.io/otel/internal/global"
}

// tracing reports whether anything may record spans.
func (t *Telemetry) tracing() bool {
	return t.tracer != nil && (t.unset == nil || otel.GetTracerProvider() != t.unset)
}

// recording reports whether anything records at all.
func (t *Telemetry) recording(ctx context.Context) bool {
	return t.logger != nil || t.tracing() || t.enabled(ctx)
}

// moduleVersion returns the version of this module in the binary.
func moduleVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, m := range append([]*debug.Module{&info.Main}, info.Deps...) {
		if m.Path == ScopeName {
			return m.Version
		}
	}
	return ""
}
