package observe

import (
	"context"
	"os"

	"go.opentelemetry.io/otel/propagation"

	"github.com/leasehold/leasehold/server/api"
	"github.com/leasehold/leasehold/telemetry"
)

// carrier is a trace context on its way in.
type carrier api.Trace

// Get implements propagation.TextMapCarrier.
func (c *carrier) Get(key string) string {
	switch key {
	case "traceparent":
		return c.Parent
	case "tracestate":
		return c.State
	}
	return ""
}

// Set implements propagation.TextMapCarrier. Nothing is sent with it.
func (c *carrier) Set(string, string) {}

// Keys implements propagation.TextMapCarrier.
func (c *carrier) Keys() []string { return []string{"traceparent", "tracestate"} }

// withRemote returns a context whose span is the client's. A trace context that is
// none is ignored.
func withRemote(ctx context.Context, t api.Trace) context.Context {
	if t.Parent == "" {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, (*carrier)(&t))
}

// FromEnvironment returns a context whose span is that of the program that started
// this one, which TRACEPARENT and TRACESTATE name.
func FromEnvironment(ctx context.Context) context.Context {
	return withRemote(ctx, api.Trace{Parent: os.Getenv("TRACEPARENT"), State: os.Getenv("TRACESTATE")})
}

// Environment returns the variables that name the span of ctx to a program that is
// started; none if there is no span.
func Environment(ctx context.Context) []string {
	parent, state := telemetry.TraceContext(ctx)
	switch {
	case parent == "":
		return nil
	case state == "":
		return []string{"TRACEPARENT=" + parent}
	}
	return []string{"TRACEPARENT=" + parent, "TRACESTATE=" + state}
}
