package observe

import (
	"context"
	"maps"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/server/api"
)

var (
	durationBounds = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5}
	waitBounds     = []float64{.01, .1, .5, 1, 5, 15, 30, 60, 300, 1800, 7200}
)

// API returns the observer of a JSON API. The attributes of its metrics are routes
// and codes, and nothing of a request: no client can make them more.
func (p *Program) API() (api.Observer, error) {
	o := &apiObserver{refusals: map[leasehold.Reason]*series{}}
	if p.Tracing() {
		o.tracer = p.tracer()
	}
	o.routes.Store(&map[string]*routeSeries{})
	for _, code := range api.Codes() { // all, so that the first refusal is a change
		o.refusals[code] = newSeries(attribute.String("code", string(code)))
	}
	m := instruments{meter: p.meter()}
	o.durations = m.histogram("leasehold.http.request.duration", "Time to answer, without requests that waited and streams.", durationBounds)
	o.waits = m.histogram("leasehold.acquire.wait", "Time from receipt to answer of requests that were let wait.", waitBounds)
	o.checks = m.gauge("leasehold.health.status", "1 for the status that the last check had.")
	m.counted("leasehold.http.requests", "Requests, by route and status. An operation of a batch counts like a request.", o.observeRequests)
	m.counted("leasehold.refusals", "Problem answers, by code.", o.observeRefusals)
	return o, m.err
}

func (p *Program) tracer() trace.Tracer {
	return p.Tracers.Tracer(scope, trace.WithInstrumentationVersion(p.options.Version))
}

// apiObserver implements api.Observer.
type apiObserver struct {
	tracer trace.Tracer // nil: no spans

	durations, waits metric.Float64Histogram
	checks           metric.Int64Gauge
	refusals         map[leasehold.Reason]*series

	mu     sync.Mutex // of those who add a route
	routes atomic.Pointer[map[string]*routeSeries]
}

// series counts in memory, and is read when metrics are: a counter of OpenTelemetry
// costs ten times as much.
type series struct {
	n          atomic.Int64
	attributes metric.MeasurementOption
}

func newSeries(all ...attribute.KeyValue) *series {
	return &series{attributes: metric.WithAttributeSet(attribute.NewSet(all...))}
}

// routeSeries are the series of a route.
type routeSeries struct {
	duration []metric.RecordOption
	statuses [500]atomic.Pointer[series] // by status - 100
}

// Started implements api.Observer.
func (o *apiObserver) Started(ctx context.Context, r api.Observed) context.Context {
	if o.tracer == nil {
		return withRemote(ctx, r.Trace) // for logs
	}
	request := trace.SpanContextFromContext(ctx) // of a batch; otherwise there is none
	ctx = withRemote(ctx, r.Trace)
	var links []trace.Link
	if request.IsValid() && !request.Equal(trace.SpanContextFromContext(ctx)) { // the request is not the parent then
		links = []trace.Link{{SpanContext: request}}
	}
	attributes := []attribute.KeyValue{attribute.Bool("leasehold.batched", r.Batched)}
	if method, path, ok := strings.Cut(r.Route, " "); ok {
		attributes = append(attributes, attribute.String("http.request.method", method), attribute.String("http.route", path))
	}
	ctx, _ = o.tracer.Start(ctx, r.Route, trace.WithSpanKind(trace.SpanKindServer), trace.WithLinks(links...), trace.WithAttributes(attributes...))
	return ctx
}

// Ended implements api.Observer.
func (o *apiObserver) Ended(ctx context.Context, r api.Observed, out api.Outcome) {
	route := o.route(r.Route)
	route.status(r.Route, out.Status).n.Add(1)
	if out.Code != "" {
		if refusal := o.refusals[out.Code]; refusal != nil {
			refusal.n.Add(1)
		}
	}
	switch {
	case out.Waited:
		o.waits.Record(ctx, out.Duration.Seconds())
	case !out.Long:
		o.durations.Record(ctx, out.Duration.Seconds(), route.duration...)
	}
	if o.tracer != nil {
		endSpan(trace.SpanFromContext(ctx), out)
	}
}

func (o *apiObserver) observeRequests(_ context.Context, to metric.Int64Observer) error {
	for _, route := range *o.routes.Load() {
		for i := range route.statuses {
			if s := route.statuses[i].Load(); s != nil {
				to.Observe(s.n.Load(), s.attributes)
			}
		}
	}
	return nil
}

func (o *apiObserver) observeRefusals(_ context.Context, to metric.Int64Observer) error {
	for _, s := range o.refusals {
		to.Observe(s.n.Load(), s.attributes)
	}
	return nil
}

func endSpan(span trace.Span, out api.Outcome) {
	if span.IsRecording() {
		span.SetAttributes(attribute.Int("http.response.status_code", out.Status))
		if out.Code != "" {
			span.SetAttributes(attribute.String("leasehold.code", string(out.Code)))
		}
		if out.Status >= 500 {
			span.SetAttributes(attribute.String("error.type", strconv.Itoa(out.Status)))
			span.SetStatus(codes.Error, string(out.Code))
		}
	}
	span.End()
}

// Checked implements api.Observer.
func (o *apiObserver) Checked(check, status string) {
	for _, s := range []string{"healthy", "degraded", "unhealthy"} {
		value := int64(0)
		if s == status {
			value = 1
		}
		o.checks.Record(context.Background(), value, recordWith(attribute.String("check", check), attribute.String("status", s))...)
	}
}

// route returns the attributes of a route, without a lock once they are known.
func (o *apiObserver) route(name string) *routeSeries {
	if r := (*o.routes.Load())[name]; r != nil {
		return r
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	known := *o.routes.Load()
	if r := known[name]; r != nil {
		return r
	}
	r := &routeSeries{duration: recordWith(attribute.String("route", name))}
	more := maps.Clone(known)
	more[name] = r
	o.routes.Store(&more)
	return r
}

func (r *routeSeries) status(name string, status int) *series {
	status = max(100, min(status, 599))
	known := &r.statuses[status-100]
	if known.Load() == nil {
		known.CompareAndSwap(nil, newSeries(attribute.String("route", name), attribute.String("code", strconv.Itoa(status))))
	}
	return known.Load()
}

// addTo returns the options of a counter, made once: making them takes longer than
// counting.
func addTo(all ...attribute.KeyValue) []metric.AddOption {
	return []metric.AddOption{metric.WithAttributeSet(attribute.NewSet(all...))}
}

// recordWith is addTo for histograms and gauges.
func recordWith(all ...attribute.KeyValue) []metric.RecordOption {
	return []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(all...))}
}

// WatchAPI adds what is read from the API when metrics are.
func (p *Program) WatchAPI(s *api.Server) error {
	m := instruments{meter: p.meter()}
	waiters := m.observed("leasehold.waiters", "Requests that wait in a queue.", "")
	streams := m.observed("leasehold.event.streams", "Open event streams.", "")
	if m.err != nil {
		return m.err
	}
	_, err := m.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		o.ObserveInt64(waiters, int64(s.Waiters()))
		o.ObserveInt64(streams, int64(s.Streams()))
		return nil
	}, waiters, streams)
	return err
}

// instruments makes instruments, and keeps the first error.
type instruments struct {
	meter metric.Meter
	err   error
}

func (m *instruments) keep(err error) {
	if m.err == nil {
		m.err = err
	}
}

func (m *instruments) counter(name, help string) metric.Int64Counter {
	c, err := m.meter.Int64Counter(name, metric.WithDescription(help))
	m.keep(err)
	return c
}

func (m *instruments) gauge(name, help string) metric.Int64Gauge {
	g, err := m.meter.Int64Gauge(name, metric.WithDescription(help))
	m.keep(err)
	return g
}

// counted is a counter that is read when metrics are.
func (m *instruments) counted(name, help string, read metric.Int64Callback) {
	_, err := m.meter.Int64ObservableCounter(name, metric.WithDescription(help), metric.WithInt64Callback(read))
	m.keep(err)
}

// histogram is of seconds.
func (m *instruments) histogram(name, help string, bounds []float64) metric.Float64Histogram {
	h, err := m.meter.Float64Histogram(name, metric.WithDescription(help), metric.WithUnit("s"), metric.WithExplicitBucketBoundaries(bounds...))
	m.keep(err)
	return h
}

// observed is a gauge that is read when metrics are.
func (m *instruments) observed(name, help, unit string) metric.Int64ObservableGauge {
	g, err := m.meter.Int64ObservableGauge(name, metric.WithDescription(help), metric.WithUnit(unit))
	m.keep(err)
	return g
}
