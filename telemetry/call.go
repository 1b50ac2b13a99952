package telemetry

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/leasehold/leasehold"
)

// call is one call of a store.
type call struct {
	s         *store // nil: nothing records
	method    method
	ctx       context.Context // for the store
	began     time.Time
	span      trace.Span // nil: none
	operation *operation // the one that the call is a request of; nil: none
}

// answer is what a call sent and got.
type answer struct {
	resource, holder string
	token            uint64
	ttl, timeout     time.Duration
	metadata         map[string]string
	waited           time.Duration // in the store's queue; leasehold.WaitUnknown
	err              error
}

func (s *store) start(ctx context.Context, m method) call {
	t := s.p.t
	if !t.recording(ctx) {
		return call{ctx: ctx}
	}
	c := call{s: s, method: m, ctx: ctx, began: time.Now()}
	if s.managed.Load() { // a look into the context takes time
		if o := operationOf(ctx, s); o != nil && o.sends(m) {
			c.operation = o
			return c
		}
	}
	if m == methodWait {
		s.p.waiting.Add(1)
	}
	if t.tracing() {
		c.ctx, c.span = t.tracer.Start(ctx, methodNames[m].span, s.p.span...)
	}
	return c
}

// end records the call. A request of an operation is one of its attempts;
// otherwise the call is counted by itself.
func (c *call) end(a answer) {
	if c.s == nil {
		return
	}
	took, p := time.Since(c.began), c.s.p
	r := resultOf(a.err)
	ctx := p.t.contextOf(c.ctx)
	p.t.metrics.operationDuration.Record(ctx, took.Seconds(), p.calls[c.method][r]...)
	service := serviceTime(took, &a)
	if c.operation != nil {
		c.operation.noteRequest(c, &a, r, took, service)
		return
	}
	wait := time.Duration(-1)
	if c.method == methodWait {
		p.waiting.Add(-1)
		wait = took - max(service, 0)
	}
	switch c.method {
	case methodAcquire, methodWait:
		p.countAcquisition(ctx, r, service, wait, p.labels(r, a.resource, a.metadata))
	case methodRenew:
		p.countRenewal(ctx, r, took, p.labels(r, a.resource, a.metadata))
	case methodRelease:
		p.count(releases, r, p.labels(r, a.resource, a.metadata))
	}
	p.t.logCall(c, &a, r)
	if c.span != nil {
		p.t.endSpan(c.span, facts{
			resource: a.resource, token: a.token, ttl: a.ttl, metadata: a.metadata, timeout: max(a.timeout, 0),
			wait: wait, result: r, err: a.err,
		})
	}
}

// waitedBefore returns how long a request waited that ended with this error.
func waitedBefore(err error) time.Duration {
	var e *leasehold.Error
	if !errors.As(err, &e) {
		return 0
	}
	return e.Waited
}

// serviceTime returns the time of a request without its wait in the store's queue,
// or -1 where the store cannot tell.
func serviceTime(took time.Duration, a *answer) time.Duration {
	waited := a.waited
	if a.err != nil {
		waited = waitedBefore(a.err)
	}
	if waited == leasehold.WaitUnknown {
		return -1
	}
	return max(took-waited, 0)
}
