// Package observe wires what the program shows of itself: metrics at /metrics and
// by OTLP, traces and logs by OTLP, and logs on standard error. It is the only
// package that imports the OpenTelemetry SDK.
//
// The packages that do the work know none of this. They have hooks in their
// options, plain Go types, which are implemented here.
//
//   - observe.go: Start and Close.
//   - environment.go, exporter.go, resource.go: the standard OTEL_* variables.
//   - api.go, blob.go, engine.go: the metrics and spans of the JSON API, of the
//     Blob API and of the embedded engine.
//   - trace.go: the W3C trace context, in headers, batches and environments.
//   - log.go, log_writer.go: log records with trace ids, and how they are written.
//   - command.go: the commands of the program that are clients.
package observe

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"runtime"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/leasehold/leasehold/telemetry"
)

// scope is the name of the meter, the tracer and the logger.
const scope = telemetry.ScopeName

const (
	closeWithin = 5 * time.Second
	flushWithin = 2 * time.Second
)

// Options say what is observed. The zero value is fine.
type Options struct {
	Version string // of the program
	Log     *Log   // where records go; nil: nowhere but to OTLP
	Page    bool   // there is a page of metrics

	// CloseWithin is how long Close may wait for an exporter. Zero: 5 s.
	CloseWithin time.Duration
}

// Program is the telemetry of this process. Make it with Start, end it with Close.
type Program struct {
	Tracers trace.TracerProvider // makes no spans where no exporter is set
	Meters  metric.MeterProvider

	options  Options
	config   config
	registry *prometheus.Registry
	flush    func(context.Context) error // of metrics
	closers  []func(context.Context) error
}

// Start reads the standard OTEL_* variables and starts what they name. Without any
// of them nothing runs in the background, and metrics are for the page alone. An
// error is about a variable; it never has a header of OTLP, which may be a secret.
func Start(ctx context.Context, o Options) (*Program, error) {
	c, err := readEnvironment()
	if err != nil {
		return nil, err
	}
	p := &Program{options: o, config: c, Tracers: noop.NewTracerProvider(), registry: prometheus.NewRegistry()}
	handleErrors(o.Log, c.secrets)
	for _, start := range []func(context.Context) error{p.startTraces, p.startMetrics, p.startLogs} {
		if err := start(ctx); err != nil {
			return nil, errors.Join(err, p.Close())
		}
	}
	return p, nil
}

// handleErrors logs what OpenTelemetry cannot export. Its own messages have values
// of variables in them; they are dropped, since readEnvironment has checked those.
func handleErrors(log *Log, secrets []string) {
	otel.SetLogger(logr.Discard())
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.telemetryFailed(redact(err.Error(), secrets)) }))
}

func (p *Program) startTraces(ctx context.Context) error {
	if !p.config.traces.export {
		return nil
	}
	exporter, err := newTraceExporter(ctx, p.config.traces)
	if err != nil {
		return p.exporterError("traces", err)
	}
	tracers := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(p.resource()))
	p.Tracers = tracers
	p.closers = append(p.closers, tracers.Shutdown)
	return nil
}

func (p *Program) startMetrics(ctx context.Context) error {
	options := []sdkmetric.Option{sdkmetric.WithResource(p.resource())}
	if !p.Tracing() { // looking for a span in each context would cost as much as counting
		options = append(options, sdkmetric.WithExemplarFilter(exemplar.AlwaysOffFilter))
	}
	if p.options.Page {
		page, err := otelprometheus.New(otelprometheus.WithRegisterer(p.registry), otelprometheus.WithoutScopeInfo())
		if err != nil {
			return err
		}
		p.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
		options = append(options, sdkmetric.WithReader(page))
	}
	if p.config.metrics.export {
		exporter, err := newMetricExporter(ctx, p.config.metrics)
		if err != nil {
			return p.exporterError("metrics", err)
		}
		options = append(options, sdkmetric.WithReader(sdkmetric.NewPeriodicReader(exporter)))
	}
	meters := sdkmetric.NewMeterProvider(options...)
	p.Meters, p.flush = meters, meters.ForceFlush
	p.closers = append(p.closers, meters.Shutdown)
	return p.registerBuild()
}

func (p *Program) startLogs(ctx context.Context) error {
	if !p.config.logs.export {
		return nil
	}
	exporter, err := newLogExporter(ctx, p.config.logs)
	if err != nil {
		return p.exporterError("logs", err)
	}
	logs := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewBatchProcessor(exporter)), sdklog.WithResource(p.resource()))
	p.options.Log.exportTo(logs, p.options.Version)
	p.closers = append(p.closers, logs.Shutdown)
	return nil
}

// Page serves the metrics in the format that the request prefers.
func (p *Program) Page() http.Handler {
	return promhttp.HandlerFor(p.registry, promhttp.HandlerOpts{EnableOpenMetrics: true})
}

// Tracing reports whether spans are exported.
func (p *Program) Tracing() bool { return p.config.traces.export }

// FlushMetrics exports metrics now, if that can be done soon.
func (p *Program) FlushMetrics() {
	ctx, cancel := context.WithTimeout(context.Background(), flushWithin)
	defer cancel()
	if err := p.flush(ctx); err != nil {
		p.options.Log.telemetryFailed(redact(err.Error(), p.config.secrets))
	}
}

// Close exports what is still there, if it can be done soon.
func (p *Program) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), cmp.Or(p.options.CloseWithin, closeWithin))
	defer cancel()
	var err error
	for _, c := range p.closers {
		err = errors.Join(err, c(ctx))
	}
	p.closers = nil
	if err != nil {
		p.options.Log.telemetryFailed(redact(err.Error(), p.config.secrets))
	}
	return nil // what could not be exported is no failure of the program
}

// Telemetry returns what observes stores and Managers. It does not log: where the
// program logs what becomes of leases, it knows the caller as well.
func (p *Program) Telemetry() (*telemetry.Telemetry, error) {
	return telemetry.New(&telemetry.Options{MeterProvider: p.Meters, TracerProvider: p.Tracers, Version: p.options.Version})
}

func (p *Program) meter() metric.Meter {
	return p.Meters.Meter(scope, metric.WithInstrumentationVersion(p.options.Version))
}

func (p *Program) registerBuild() error {
	_, err := p.meter().Int64ObservableGauge("leasehold.build.info",
		metric.WithDescription("The version that runs."),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(1, metric.WithAttributes(attribute.String("version", p.options.Version), attribute.String("go_version", runtime.Version())))
			return nil
		}))
	return err
}
