package otlptest

import (
	"encoding/hex"
	"fmt"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// Attributes are attributes as text.
type Attributes map[string]string

// Span is a span that was received.
type Span struct {
	Name, Scope, Version  string
	Kind                  string // server, client, internal
	Trace, ID, Parent     string // hex; no parent is empty
	Links                 []string
	Events                []string
	Failed                bool
	Attributes, Resource  Attributes
	StartNanos, EndsNanos uint64
}

// Spans returns all spans.
func (r *Receiver) Spans() (all []Span) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, request := range r.traces {
		for _, resource := range request.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				for _, s := range scope.Spans {
					span := spanOf(s)
					span.Scope, span.Version, span.Resource = scope.Scope.Name, scope.Scope.Version, attributesOf(resource.Resource.Attributes)
					all = append(all, span)
				}
			}
		}
	}
	return all
}

func spanOf(s *tracepb.Span) Span {
	kinds := map[tracepb.Span_SpanKind]string{
		tracepb.Span_SPAN_KIND_SERVER: "server", tracepb.Span_SPAN_KIND_CLIENT: "client", tracepb.Span_SPAN_KIND_INTERNAL: "internal",
	}
	span := Span{
		Name: s.Name, Kind: kinds[s.Kind], Trace: hex.EncodeToString(s.TraceId), ID: hex.EncodeToString(s.SpanId), Parent: hex.EncodeToString(s.ParentSpanId),
		Failed: s.Status.GetCode() == tracepb.Status_STATUS_CODE_ERROR, Attributes: attributesOf(s.Attributes),
		StartNanos: s.StartTimeUnixNano, EndsNanos: s.EndTimeUnixNano,
	}
	for _, l := range s.Links {
		span.Links = append(span.Links, hex.EncodeToString(l.SpanId))
	}
	for _, e := range s.Events {
		span.Events = append(span.Events, e.Name)
	}
	return span
}

// Point is one series of a metric, as it was last received.
type Point struct {
	Kind       string // sum, gauge, histogram
	Unit       string
	Attributes Attributes
	Value      float64 // of a histogram, its sum
	Count      uint64  // of a histogram
	Resource   Attributes
}

// Points returns the newest points of a metric, by their attributes.
func (r *Receiver) Points(name string) map[string]Point {
	r.mu.Lock()
	defer r.mu.Unlock()
	points := map[string]Point{}
	for _, request := range r.metrics {
		for _, resource := range request.ResourceMetrics {
			for _, scope := range resource.ScopeMetrics {
				for _, m := range scope.Metrics {
					if m.Name == name {
						addPoints(points, m, attributesOf(resource.Resource.Attributes))
					}
				}
			}
		}
	}
	return points
}

func addPoints(to map[string]Point, m *metricspb.Metric, resource Attributes) {
	add := func(kind string, a []*commonpb.KeyValue, value float64, count uint64) {
		p := Point{kind, m.Unit, attributesOf(a), value, count, resource}
		to[fmt.Sprint(p.Attributes)] = p
	}
	for _, p := range m.GetSum().GetDataPoints() {
		add("sum", p.Attributes, numberOf(p), 0)
	}
	for _, p := range m.GetGauge().GetDataPoints() {
		add("gauge", p.Attributes, numberOf(p), 0)
	}
	for _, p := range m.GetHistogram().GetDataPoints() {
		add("histogram", p.Attributes, p.GetSum(), p.Count)
	}
}

func numberOf(p *metricspb.NumberDataPoint) float64 {
	if v, ok := p.Value.(*metricspb.NumberDataPoint_AsInt); ok {
		return float64(v.AsInt)
	}
	return p.GetAsDouble()
}

// Record is a log record that was received.
type Record struct {
	Severity, Body, Trace, Span string
	Attributes, Resource        Attributes
}

// Logs returns all records.
func (r *Receiver) Logs() (all []Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, request := range r.logs {
		for _, resource := range request.ResourceLogs {
			for _, scope := range resource.ScopeLogs {
				for _, l := range scope.LogRecords {
					all = append(all, recordOf(l, attributesOf(resource.Resource.Attributes)))
				}
			}
		}
	}
	return all
}

func recordOf(l *logspb.LogRecord, resource Attributes) Record {
	return Record{
		Severity: l.SeverityText, Body: l.Body.GetStringValue(), Trace: hex.EncodeToString(l.TraceId), Span: hex.EncodeToString(l.SpanId),
		Attributes: attributesOf(l.Attributes), Resource: resource,
	}
}

func attributesOf(all []*commonpb.KeyValue) Attributes {
	m := Attributes{}
	for _, a := range all {
		switch v := a.Value.Value.(type) {
		case *commonpb.AnyValue_StringValue:
			m[a.Key] = v.StringValue
		case *commonpb.AnyValue_IntValue:
			m[a.Key] = fmt.Sprint(v.IntValue)
		case *commonpb.AnyValue_DoubleValue:
			m[a.Key] = fmt.Sprint(v.DoubleValue)
		case *commonpb.AnyValue_BoolValue:
			m[a.Key] = fmt.Sprint(v.BoolValue)
		default:
			m[a.Key] = a.Value.String()
		}
	}
	return m
}
