package telemetry

import (
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/leasehold/leasehold"
)

// maxFailures is how many failed renewals the span of a lost lease shows: the last.
const maxFailures = 32

// NewManager returns a Manager with telemetry around it and its store, as Store
// wraps it. Hooks of the options are called, too.
//
// Set a global SDK before: a Manager that is made while nothing records costs
// nothing more, and later reports the calls of its store only.
func (t *Telemetry) NewManager(s leasehold.Store, provider string, options *leasehold.Options) (*leasehold.Manager, error) {
	wrapped := t.wrap(s, provider)
	if !t.recording(context.Background()) {
		return leasehold.NewManager(wrapped, options)
	}
	var o leasehold.Options
	if options != nil {
		o = *options
	}
	wrapped.managed.Store(true)
	o.Observe = wrapped.observe(o.Observe)
	o.Trace = wrapped.traceWith(o.Trace)
	m, err := leasehold.NewManager(wrapped, &o)
	if err != nil {
		t.log(context.Background(), slog.LevelError, "manager not started: check its configuration", slog.String("error", err.Error()))
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	wrapped.p.manages = true
	return m, nil
}

func (s *store) observe(next func(leasehold.Event)) func(leasehold.Event) {
	if next == nil {
		return s.noteEvent
	}
	return func(e leasehold.Event) {
		s.noteEvent(e)
		next(e)
	}
}

type traceFunc = func(context.Context, leasehold.Operation) (context.Context, func(uint64, error))

func (s *store) traceWith(next traceFunc) traceFunc {
	if next == nil {
		return s.startOperation
	}
	return func(ctx context.Context, op leasehold.Operation) (context.Context, func(uint64, error)) {
		ctx, ended := s.startOperation(ctx, op)
		ctx, nextEnded := next(ctx, op)
		return ctx, func(token uint64, err error) {
			nextEnded(token, err)
			ended(token, err)
		}
	}
}

// noteEvent is the Manager's Options.Observe.
func (s *store) noteEvent(e leasehold.Event) {
	info := e.Info()
	var l *lease
	if o := operationOf(info.Context(), s); o != nil {
		l = o.lease
	} else {
		l = &lease{} // acquired while nothing recorded
	}
	switch e := e.(type) {
	case leasehold.Acquired:
		s.p.addLease(l, e)
	case leasehold.Renewed:
		l.failures = nil
	case leasehold.RenewalFailed:
		l.failures = append(l.failures[max(len(l.failures)-maxFailures+1, 0):], e)
	case leasehold.Lost:
		s.p.count(losses, resultLost, s.p.labels(resultLost, e.Resource, l.metadata))
		s.p.removeLease(l, info, resultLost)
		s.p.recordLoss(l, e)
	case leasehold.Released:
		s.p.removeLease(l, info, resultOf(e.Err))
	}
	s.p.logEvent(e, l)
}

// addLease counts the lease as held.
func (p *provider) addLease(l *lease, e leasehold.Acquired) {
	if l.renewed.Load() == 0 {
		return // nothing recorded when it was acquired
	}
	l.acquired, l.autoRenew = e.Time, e.AutoRenew
	p.t.mu.Lock()
	defer p.t.mu.Unlock()
	p.held[l] = struct{}{}
}

// removeLease ends the count and records how long the lease was held.
func (p *provider) removeLease(l *lease, info leasehold.EventInfo, r result) {
	if l.acquired.IsZero() {
		return
	}
	p.t.mu.Lock()
	delete(p.held, l)
	p.t.mu.Unlock()
	p.t.metrics.leaseDuration.Record(p.t.contextOf(info.Context()), info.Time.Sub(l.acquired).Seconds(), p.labels(r, info.Resource, l.metadata).record...)
}

// recordLoss makes a span in the trace of the acquisition that says why the lease
// was lost, linked to its last background renewal.
func (p *provider) recordLoss(l *lease, e leasehold.Lost) {
	ctx := e.Context()
	if !p.t.tracing() || !trace.SpanContextFromContext(ctx).IsValid() {
		return
	}
	options := append(p.span[:len(p.span):len(p.span)], trace.WithTimestamp(e.LastSuccess))
	if renewal := l.renewal.Load(); renewal != nil && renewal.IsValid() {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: *renewal}))
	}
	_, span := p.t.tracer.Start(ctx, "Lease.Lost", options...)
	if span.IsRecording() {
		failure := &leasehold.Error{Reason: e.Reason, Op: "hold", Resource: e.Resource}
		attempts := 0
		for _, f := range l.failures {
			attempts = f.Attempt
			span.AddEvent(eventAttempt, trace.WithTimestamp(f.Time), trace.WithAttributes(
				attribute.Int(attrAttempt, f.Attempt), attribute.Stringer(attrResult, resultOf(f.Err)), attribute.String(attrFailureReason, reasonOf(f.Err))))
		}
		span.SetAttributes(p.t.attributes(&facts{
			resource: e.Resource, token: e.Token, metadata: l.metadata, wait: -1, retries: attempts, result: resultLost, err: failure,
		})...)
		span.SetAttributes(attribute.String(attrLastSuccess, e.LastSuccess.UTC().Format(time.RFC3339Nano)))
		span.SetStatus(codes.Error, failure.Error())
	}
	span.End(trace.WithTimestamp(e.Time))
}
