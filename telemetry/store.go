package telemetry

import (
	"context"
	"sync/atomic"

	"github.com/leasehold/leasehold"
)

// store is a store with telemetry around it. It cannot know which powers the store
// inside has, so it has them all; see leasehold.Store.
type store struct {
	p       *provider
	next    leasehold.Store
	managed atomic.Bool // by a Manager with hooks
}

// Store returns the store with telemetry around it. It has the powers of the
// store: those that the store lacks answer ErrUnsupported. Provider is the store's
// kind, such as "redis", and the attribute of that name. Spans are of kind internal
// for "memory" and "sqlite", and of kind client for all others.
//
// A watch is passed on as it is: it has no end that could be measured.
func (t *Telemetry) Store(s leasehold.Store, provider string) leasehold.Store {
	return t.wrap(s, provider)
}

// wrap does not wrap twice.
func (t *Telemetry) wrap(s leasehold.Store, provider string) *store {
	p := t.provider(provider)
	if s, ok := s.(*store); ok && s.p == p {
		return s
	}
	return &store{p: p, next: s}
}

// Acquire implements leasehold.Store.
func (s *store) Acquire(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	c := s.start(ctx, methodAcquire)
	g, err := s.next.Acquire(c.ctx, r)
	c.end(acquireAnswer(&r, &g, err))
	return g, err
}

// Wait implements leasehold.Waiter.
func (s *store) Wait(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	w, ok := s.next.(leasehold.Waiter)
	if !ok {
		return leasehold.Grant{}, s.unsupported(methodWait)
	}
	c := s.start(ctx, methodWait)
	g, err := w.Wait(c.ctx, r)
	a := acquireAnswer(&r, &g, err)
	a.timeout = r.Timeout
	c.end(a)
	return g, err
}

func acquireAnswer(r *leasehold.AcquireRequest, g *leasehold.Grant, err error) answer {
	a := answer{resource: r.Resource, holder: r.Holder, ttl: r.TTL, metadata: r.Metadata, err: err}
	if err == nil {
		a.token, a.ttl, a.waited = g.Token, g.TTL, g.Waited
	}
	switch {
	case r.Claims == nil:
	case err == nil:
		a.resource = g.Resource
	default:
		a.resource = leasehold.SetPrefix // only a grant has a name; the error says where claims meet
	}
	return a
}

// leaseAnswer prefers what the store says to what was sent.
func leaseAnswer(resource, holder string, token uint64, l *leasehold.Lease, err error) answer {
	if err != nil {
		return answer{resource: resource, holder: holder, token: token, err: err}
	}
	return answer{resource: l.Resource, holder: l.Holder, token: l.Token, ttl: l.TTL, metadata: l.Metadata}
}

// Renew implements leasehold.Store.
func (s *store) Renew(ctx context.Context, r leasehold.RenewRequest) (leasehold.Lease, error) {
	c := s.start(ctx, methodRenew)
	l, err := s.next.Renew(c.ctx, r)
	c.end(leaseAnswer(r.Resource, r.Holder, r.Token, &l, err))
	return l, err
}

// Release implements leasehold.Store.
func (s *store) Release(ctx context.Context, r leasehold.ReleaseRequest) (leasehold.Lease, error) {
	c := s.start(ctx, methodRelease)
	l, err := s.next.Release(c.ctx, r)
	c.end(leaseAnswer(r.Resource, r.Holder, r.Token, &l, err))
	return l, err
}

// Status implements leasehold.Store.
func (s *store) Status(ctx context.Context, resource string) (leasehold.Status, error) {
	c := s.start(ctx, methodStatus)
	status, err := s.next.Status(c.ctx, resource)
	c.end(answer{resource: resource, err: err})
	return status, err
}

// Close implements leasehold.Store.
func (s *store) Close() error { return s.next.Close() }
