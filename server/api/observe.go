package api

import (
	"context"
	"net/http"
	"time"

	"github.com/leasehold/leasehold"
)

// Observer counts and traces what the API does. Its methods are called by many
// goroutines at the same time, for each request and each operation of a batch.
type Observer interface {
	// Started is called before the operation is authorized. Everything that is
	// done for it, the call of the store above all, has the context that Started
	// returns.
	Started(ctx context.Context, o Observed) context.Context

	// Ended is called after the answer, with the context that Started returned.
	Ended(ctx context.Context, o Observed, outcome Outcome)

	// Checked is called after a health check: ready or leasing.
	Checked(check, status string)
}

// NoRoute is the route of requests without one: there is no such path, or they were
// refused before it was looked for.
const NoRoute = "none"

// Observed is a request, or an operation of a batch.
type Observed struct {
	Route   string // method and path, with its open part in braces; or NoRoute
	Batched bool   // it is an operation of a batch
	Trace   Trace  // as the client sent it
}

// Outcome is how an operation was answered.
type Outcome struct {
	Status   int              // of HTTP
	Code     leasehold.Reason // of the problem; empty: it is none
	Duration time.Duration    // since the request came

	// Waited: it was let wait in a queue; Long: its answer has no end, or a far
	// one. The duration then says nothing about the server.
	Waited, Long bool
}

// Trace is a client's W3C trace context, unchecked but not longer than Started
// should have to read. The zero value is none.
type Trace struct{ Parent, State string }

// The longest values that are passed on. W3C wants tracestate to have at least
// 512 bytes; a traceparent has 55, and later versions may have more.
const (
	maxTraceParent = 128
	maxTraceState  = 512
)

// bounded leaves out what is too long: a bad trace context is no reason to refuse
// a lease.
func (t Trace) bounded() Trace {
	if len(t.Parent) > maxTraceParent {
		return Trace{}
	}
	if len(t.State) > maxTraceState {
		t.State = ""
	}
	return t
}

// TraceOf returns the trace context of a request.
func TraceOf(h http.Header) Trace {
	return Trace{h.Get("Traceparent"), h.Get("Tracestate")}.bounded()
}

// Codes returns every code that an Outcome can have.
func Codes() []leasehold.Reason {
	all := make([]leasehold.Reason, len(codes))
	for i, c := range codes {
		all[i] = c.Code
	}
	return all
}

// Waiters returns how many requests wait in queues now.
func (s *Server) Waiters() int { return s.waiters.Size() }

// Streams returns how many event streams are open now.
func (s *Server) Streams() int { return s.streams.Size() }

// observeStart calls the observer, if there is one.
func (c *call) observeStart(t Trace) {
	if o := c.s.o.Observer; o != nil {
		c.ctx = o.Started(c.ctx, Observed{c.route(), c.batched, t})
	}
}

func (c *call) observeEnd(duration time.Duration) {
	o := c.s.o.Observer
	if o == nil {
		return
	}
	o.Ended(c.ctx, Observed{Route: c.route(), Batched: c.batched}, Outcome{
		Status: c.status, Code: c.code, Duration: duration,
		Waited: c.waited, Long: c.endpoint != nil && c.endpoint.Long,
	})
}

func (s *Server) observeCheck(check, status string) {
	if s.o.Observer != nil {
		s.o.Observer.Checked(check, status)
	}
}
