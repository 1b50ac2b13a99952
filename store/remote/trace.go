package remote

import (
	"context"
	"net/http"
	"strings"
)

// traceContext is the W3C trace context of a call. The zero value is none.
type traceContext struct{ parent, state string }

// The longest that is sent. A server ignores longer ones.
const (
	maxTraceParent = 128
	maxTraceState  = 512
)

// traceContext returns the trace context of a call. What no header can have is
// left out: a lease must not fail because of it.
func (o *Options) traceContext(ctx context.Context) traceContext {
	if o.Trace == nil {
		return traceContext{}
	}
	parent, state := o.Trace(ctx)
	switch {
	case parent == "", len(parent) > maxTraceParent, strings.ContainsFunc(parent, notHeader):
		return traceContext{}
	case len(state) > maxTraceState, strings.ContainsFunc(state, notHeader):
		state = ""
	}
	return traceContext{parent, state}
}

// addTo sets the headers of a request.
func (t traceContext) addTo(h http.Header) {
	if t.parent != "" {
		h["Traceparent"] = []string{t.parent}
	}
	if t.state != "" {
		h["Tracestate"] = []string{t.state}
	}
}

func (t traceContext) size() int { return len(t.parent) + len(t.state) }
