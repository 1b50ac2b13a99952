package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/leasehold/leasehold"
)

// The attributes of spans and of their events. Durations are in seconds.
const (
	attrName          = "lease.name"
	attrToken         = "lease.token"
	attrProvider      = "lease.provider"
	attrDuration      = "lease.duration" // the ttl; -1 if infinite
	attrResult        = "lease.result"
	attrRetryCount    = "lease.retry_count"
	attrFailureReason = "lease.failure_reason"
	attrTimeout       = "lease.timeout" // of a blocking acquire
	attrWait          = "lease.wait"    // how long it waited
	attrLastSuccess   = "lease.last_success"
	attrTenant        = "tenant.id"
	attrMetadata      = "lease.metadata." // and the key

	attrAttempt         = "lease.attempt"
	attrAttemptDuration = "lease.attempt.duration"
	attrAttemptMethod   = "lease.attempt.operation"
	eventAttempt        = "attempt"
)

// TraceContext returns the W3C trace context of the span in ctx, or "": what a
// client sends as the headers traceparent and tracestate.
func TraceContext(ctx context.Context) (traceparent, tracestate string) {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return "", ""
	}
	headers := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, headers)
	return headers["traceparent"], headers["tracestate"]
}

// facts are what a span says about an operation.
type facts struct {
	resource string
	token    uint64
	ttl      time.Duration // zero: not known
	metadata map[string]string
	timeout  time.Duration // zero: none
	wait     time.Duration // negative: it did not wait
	retries  int
	result   result
	err      error
}

// endSpan ends the span, if there is one.
func (t *Telemetry) endSpan(span trace.Span, f facts) {
	if span == nil {
		return
	}
	if span.IsRecording() {
		span.SetAttributes(t.attributes(&f)...)
		if f.result.failed() {
			span.SetStatus(codes.Error, f.err.Error())
		}
	}
	span.End()
}

func (t *Telemetry) attributes(f *facts) []attribute.KeyValue {
	attrs := append(make([]attribute.KeyValue, 0, 12),
		attribute.Stringer(attrResult, f.result), attribute.Int(attrRetryCount, f.retries))
	if f.resource != "" {
		attrs = append(attrs, attribute.String(attrName, f.resource))
		if name, err := leasehold.ParseName(f.resource); err == nil && name.Tenant != "" {
			attrs = append(attrs, attribute.String(attrTenant, name.Tenant))
		}
	}
	if f.token != 0 {
		attrs = append(attrs, attribute.Int64(attrToken, int64(f.token))) // at most 2^53
	}
	switch {
	case f.ttl == leasehold.Infinite:
		attrs = append(attrs, attribute.Float64(attrDuration, -1))
	case f.ttl > 0:
		attrs = append(attrs, attribute.Float64(attrDuration, f.ttl.Seconds()))
	}
	if f.timeout > 0 {
		attrs = append(attrs, attribute.Float64(attrTimeout, f.timeout.Seconds()))
	}
	if f.wait >= 0 {
		attrs = append(attrs, attribute.Float64(attrWait, f.wait.Seconds()))
	}
	if f.err != nil {
		attrs = append(attrs, attribute.String(attrFailureReason, reasonOf(f.err)))
	}
	for _, key := range t.options.MetadataKeys {
		if value, ok := f.metadata[key]; ok {
			attrs = append(attrs, attribute.String(attrMetadata+key, value))
		}
	}
	return attrs
}

// addAttempt adds an event for one request of an operation.
func addAttempt(span trace.Span, n int, m method, took time.Duration, r result, err error) {
	if span == nil || !span.IsRecording() {
		return
	}
	attrs := append(make([]attribute.KeyValue, 0, 5), attribute.Int(attrAttempt, n), attribute.String(attrAttemptMethod, methodNames[m].operation),
		attribute.Float64(attrAttemptDuration, took.Seconds()), attribute.Stringer(attrResult, r))
	if err != nil {
		attrs = append(attrs, attribute.String(attrFailureReason, reasonOf(err)))
	}
	span.AddEvent(eventAttempt, trace.WithAttributes(attrs...))
}

// linkTo returns the link to the span in ctx, or nothing.
func linkTo(ctx context.Context) []trace.SpanStartOption {
	if ctx == nil {
		return nil
	}
	span := trace.SpanContextFromContext(ctx)
	if !span.IsValid() {
		return nil
	}
	return []trace.SpanStartOption{trace.WithLinks(trace.Link{SpanContext: span})}
}
