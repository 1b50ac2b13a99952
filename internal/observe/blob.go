package observe

import (
	"context"
	"net/http"
	"strconv"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	azure "github.com/leasehold/leasehold/azure/server"
	"github.com/leasehold/leasehold/server/api"
)

// Blobs returns the observer of the Blob API.
func (p *Program) Blobs() (*azure.Observer, error) {
	m := instruments{meter: p.meter()}
	b := &blobObserver{
		requests:  m.counter("leasehold.blob.requests", "Requests of the Blob API, by operation and status."),
		durations: m.histogram("leasehold.blob.request.duration", "Time to answer a request of the Blob API.", durationBounds),
	}
	if m.err != nil {
		return nil, m.err
	}
	o := &azure.Observer{Request: b.request}
	if p.Tracing() {
		b.tracer = p.tracer()
		o.Start = b.start
	}
	return o, nil
}

type blobObserver struct {
	tracer    trace.Tracer
	requests  metric.Int64Counter
	durations metric.Float64Histogram
	series    sync.Map // blobKey → *blobSeries
}

// blobKey is one of few: operations and statuses of the protocol.
type blobKey struct {
	operation string
	status    int
}

type blobSeries struct {
	request  []metric.AddOption
	duration []metric.RecordOption
}

func (b *blobObserver) request(ctx context.Context, r azure.Request) {
	s := b.seriesOf(blobKey{r.Operation, r.Status})
	b.requests.Add(ctx, 1, s.request...)
	b.durations.Record(ctx, r.Took.Seconds(), s.duration...)
}

func (b *blobObserver) seriesOf(k blobKey) *blobSeries {
	if s, ok := b.series.Load(k); ok {
		return s.(*blobSeries)
	}
	operation := attribute.String("operation", k.operation)
	s, _ := b.series.LoadOrStore(k, &blobSeries{
		request: addTo(operation, attribute.String("code", strconv.Itoa(k.status))), duration: recordWith(operation),
	})
	return s.(*blobSeries)
}

// start begins the span of a request. It reads nothing of the request but its
// trace context.
func (b *blobObserver) start(ctx context.Context, operation string, r *http.Request) (context.Context, func(int, string)) {
	ctx, span := b.tracer.Start(withRemote(ctx, api.TraceOf(r.Header)), operation, trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(attribute.String("http.request.method", methodOf(r)), attribute.String("leasehold.blob.operation", operation)))
	return ctx, func(status int, code string) {
		span.SetAttributes(attribute.Int("http.response.status_code", status))
		if code != "" {
			span.SetAttributes(attribute.String("leasehold.code", code))
		}
		if status >= http.StatusInternalServerError {
			span.SetAttributes(attribute.String("error.type", strconv.Itoa(status)))
			span.SetStatus(codes.Error, code)
		}
		span.End()
	}
}

// methodOf is the method, or _OTHER for one that nobody knows, as the conventions
// want it: a client could send anything there.
func methodOf(r *http.Request) string {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPut, http.MethodPost, http.MethodDelete, http.MethodOptions:
		return r.Method
	}
	return "_OTHER"
}
