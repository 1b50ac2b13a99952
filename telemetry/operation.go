package telemetry

import (
	"context"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/leasehold/leasehold"
)

// operation is one operation of a Manager under way. It is the context of its
// requests, which come one after the other and find it there.
type operation struct {
	context.Context // with its span
	leasehold.Operation
	s     *store
	began time.Time
	span  trace.Span // nil: none
	lease *lease     // nil: it was acquired while nothing recorded

	requests int
	service  time.Duration // of the last one; see serviceTime
}

// lease is what is known of a lease that a Manager holds.
type lease struct {
	metadata map[string]string
	renewed  atomic.Int64                      // the last success, in Unix nanoseconds
	renewal  atomic.Pointer[trace.SpanContext] // the span of the last background renewal

	// Only the Manager's events change these, one at a time.
	acquired  time.Time
	autoRenew bool
	failures  []leasehold.RenewalFailed // since the last success
}

func (l *lease) lastSuccess() time.Time { return time.Unix(0, l.renewed.Load()) }

type operationKey struct{}

// Value implements context.Context.
func (o *operation) Value(key any) any {
	if key == (operationKey{}) {
		return o
	}
	return o.Context.Value(key)
}

// operationOf returns the operation that the context belongs to, if it is one of a
// Manager on this store.
func operationOf(ctx context.Context, s *store) *operation {
	o, _ := ctx.Value(operationKey{}).(*operation)
	if o == nil || o.s != s {
		return nil
	}
	return o
}

var operationSpans = [...]string{
	leasehold.OperationAcquire:     "Lease.Acquire",
	leasehold.OperationTryAcquire:  "Lease.TryAcquire",
	leasehold.OperationRenew:       "Lease.Renew",
	leasehold.OperationAutoRenewal: "Lease.AutoRenewal",
	leasehold.OperationRelease:     "Lease.Release",
}

func ignoreOutcome(uint64, error) {}

// startOperation is the Manager's Options.Trace.
func (s *store) startOperation(ctx context.Context, op leasehold.Operation) (context.Context, func(uint64, error)) {
	t := s.p.t
	if !t.recording(ctx) {
		return ctx, ignoreOutcome
	}
	o := newOperation(s, op)
	if op.Kind == leasehold.OperationAcquire {
		s.p.waiting.Add(1)
	}
	o.Context = ctx
	if t.tracing() {
		o.startSpan(t.tracer)
	}
	return o, o.end
}

// newOperation finds the lease, or makes one for an acquisition, together with it.
func newOperation(s *store, op leasehold.Operation) *operation {
	now := time.Now()
	if op.Acquired == nil {
		both := &struct {
			operation
			lease
		}{operation: operation{Operation: op, s: s, began: now}, lease: lease{metadata: op.Metadata}}
		both.renewed.Store(now.UnixNano())
		both.operation.lease = &both.lease
		return &both.operation
	}
	o := &operation{Operation: op, s: s, began: now}
	if acquired := operationOf(op.Acquired, s); acquired != nil && acquired.Resource == op.Resource {
		o.lease = acquired.lease
	}
	return o
}

// startSpan starts the span. Background renewals outlive by far the trace in which
// the lease was acquired, so each has a trace of its own.
func (o *operation) startSpan(tracer trace.Tracer) {
	options := append(o.s.p.span[:len(o.s.p.span):len(o.s.p.span)], linkTo(o.Acquired)...)
	if o.Kind == leasehold.OperationAutoRenewal {
		options = append(options, trace.WithNewRoot())
	}
	o.Context, o.span = tracer.Start(o.Context, operationSpans[o.Kind], options...)
	if o.Kind == leasehold.OperationAutoRenewal && o.lease != nil {
		span := o.span.SpanContext()
		o.lease.renewal.Store(&span)
	}
}

// sends reports whether such a call is a request of the operation. Others that it
// makes, such as a renewal that confirms a grant, are operations by themselves.
func (o *operation) sends(m method) bool {
	switch o.Kind {
	case leasehold.OperationAcquire, leasehold.OperationTryAcquire:
		return m == methodAcquire || m == methodWait
	case leasehold.OperationRenew, leasehold.OperationAutoRenewal:
		return m == methodRenew || m == methodStatus
	}
	return m == methodRelease
}

func (o *operation) noteRequest(c *call, a *answer, r result, took, service time.Duration) {
	o.requests++
	o.service = service
	addAttempt(o.span, o.requests, c.method, took, r, a.err)
	o.s.p.t.logAttempt(o, c, a, r)
}

// end records the operation.
func (o *operation) end(token uint64, err error) {
	took, p, r := time.Since(o.began), o.s.p, resultOf(err)
	if token == 0 {
		token = o.Token
	}
	f := facts{
		resource: o.Resource, token: token, ttl: o.TTL, metadata: o.Metadata, timeout: o.Timeout,
		wait: -1, retries: max(o.requests-1, o.Attempt-1, 0), result: r, err: err,
	}
	switch o.Kind {
	case leasehold.OperationAcquire, leasehold.OperationTryAcquire:
		f.wait = o.endAcquire(took, r)
	case leasehold.OperationRenew, leasehold.OperationAutoRenewal:
		o.endRenewal(took, r, err)
	default:
		p.count(releases, r, p.labels(r, o.Resource, o.Metadata))
	}
	p.t.logOperation(o, &f)
	p.t.endSpan(o.span, f)
}

// endAcquire returns how long it waited, -1 if it does not wait.
func (o *operation) endAcquire(took time.Duration, r result) (wait time.Duration) {
	p, wait := o.s.p, time.Duration(-1)
	service := o.service
	if o.requests == 0 { // it ended before the first
		service = took
	}
	if o.Kind == leasehold.OperationAcquire {
		p.waiting.Add(-1)
		wait = max(took-max(service, 0), 0)
	}
	p.countAcquisition(p.t.contextOf(o), r, service, wait, p.labels(r, o.Resource, o.Metadata))
	if r == resultSuccess {
		o.lease.renewed.Store(o.began.Add(took - max(service, 0)).UnixNano())
	}
	return wait
}

// endRenewal does not count a renewal that the lease's release ended.
func (o *operation) endRenewal(took time.Duration, r result, err error) {
	if r == resultTimeout && leasehold.ReasonOf(err) == leasehold.ReasonCancelled {
		return
	}
	p := o.s.p
	p.countRenewal(p.t.contextOf(o), r, took, p.labels(r, o.Resource, o.Metadata))
	if r == resultSuccess && o.lease != nil {
		o.lease.renewed.Store(o.began.UnixNano())
	}
}
