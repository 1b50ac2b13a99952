package remote

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/wire"
)

// Acquire implements leasehold.Store.
func (s *Store) Acquire(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	if err := r.ValidateAll(); err != nil {
		return leasehold.Grant{}, localError("acquire", r.Resource, err)
	}
	c := &call{op: "acquire", resource: r.Resource, effect: writes, batch: true, target: "/v1/leases/acquire", body: wire.FromAcquire(r, false)}
	if r.ID.IsZero() {
		c.unclaimed = s.releaseUnclaimed
	}
	var w wire.Grant
	if err := s.send(ctx, c, &w); err != nil {
		return leasehold.Grant{}, err
	}
	return s.checkGrant(ctx, c, r, w, false)
}

// checkGrant converts a grant. One that does not match the request is refused: the
// caller must not rely on the lease of another.
func (s *Store) checkGrant(ctx context.Context, c *call, r leasehold.AcquireRequest, w wire.Grant, blocking bool) (leasehold.Grant, error) {
	g, err := w.Grant(blocking)
	if err != nil || !covers(g.Lease, r) || g.Holder != r.Holder || g.Token == 0 ||
		g.ID.IsZero() || !r.ID.IsZero() && g.ID != r.ID {
		return leasehold.Grant{}, s.failure(ctx, c, errNonsense)
	}
	return g, nil
}

// covers reports whether the lease is on what was requested. The server names one of
// several resources.
func covers(l leasehold.Lease, r leasehold.AcquireRequest) bool {
	if len(r.Claims) == 0 {
		return l.Resource == r.Resource && len(l.Claims) == 0
	}
	return strings.HasPrefix(l.Resource, leasehold.SetPrefix) && slices.Equal(l.Claims, r.Claims)
}

// Renew implements leasehold.Store.
func (s *Store) Renew(ctx context.Context, r leasehold.RenewRequest) (leasehold.Lease, error) {
	return s.lease(ctx, r.Validate(), &call{op: "renew", resource: r.Resource, effect: writes, batch: true, target: "/v1/leases/renew", body: wire.FromRenew(r)})
}

// Release implements leasehold.Store.
func (s *Store) Release(ctx context.Context, r leasehold.ReleaseRequest) (leasehold.Lease, error) {
	return s.lease(ctx, r.ValidateAll(), &call{op: "release", resource: r.Resource, effect: writes, batch: true, target: "/v1/leases/release", body: wire.FromRelease(r)})
}

// Change implements leasehold.Changer.
func (s *Store) Change(ctx context.Context, r leasehold.ChangeRequest) (leasehold.Lease, error) {
	return s.lease(ctx, r.Validate(), &call{op: "change", resource: r.Resource, effect: writes, target: "/v1/leases/change", body: wire.FromChange(r)})
}

// Transfer implements leasehold.Transferer.
func (s *Store) Transfer(ctx context.Context, r leasehold.TransferRequest) (leasehold.Lease, error) {
	return s.lease(ctx, r.ValidateAll(), &call{op: "transfer", resource: r.Resource, effect: writes, target: "/v1/leases/transfer", body: wire.FromTransfer(r)})
}

// Break implements leasehold.Breaker.
func (s *Store) Break(ctx context.Context, r leasehold.BreakRequest) (leasehold.Lease, error) {
	if err := r.Validate(); err != nil {
		return leasehold.Lease{}, localError("break", r.Resource, err)
	}
	c := &call{op: "break", resource: r.Resource, effect: writes, target: "/v1/leases/break", body: wire.FromBreak(r)}
	var w wire.Broken
	if err := s.send(ctx, c, &w); err != nil {
		return leasehold.Lease{}, err
	}
	return s.toLease(ctx, c, w.Lease)
}

// Find implements leasehold.Finder.
func (s *Store) Find(ctx context.Context, id leasehold.ID) (leasehold.Lease, error) {
	invalid := leasehold.ReleaseRequest{ID: id}.Validate()
	return s.lease(ctx, invalid, &call{op: "find", effect: reads, target: "/v1/leases/get", body: wire.GetRequest{LeaseID: id.Reveal()}})
}

// Status implements leasehold.Store.
func (s *Store) Status(ctx context.Context, resource string) (leasehold.Status, error) {
	none := leasehold.Status{Resource: resource}
	if err := leasehold.CheckResource(resource); err != nil {
		return none, localError("status", "", err)
	}
	c := &call{op: "status", resource: resource, effect: reads, method: http.MethodGet, target: "/v1/resource?resource=" + url.QueryEscape(resource)}
	var w wire.Resource
	if err := s.send(ctx, c, &w); err != nil {
		return none, err
	}
	status, err := w.Status()
	if err != nil {
		return none, s.failure(ctx, c, errNonsense)
	}
	return status, nil
}

// lease makes a call that is answered with a lease, unless the request is invalid.
func (s *Store) lease(ctx context.Context, invalid error, c *call) (leasehold.Lease, error) {
	if invalid != nil {
		return leasehold.Lease{}, localError(c.op, c.resource, invalid)
	}
	var w wire.Lease
	if err := s.send(ctx, c, &w); err != nil {
		return leasehold.Lease{}, err
	}
	return s.toLease(ctx, c, w)
}

func (s *Store) toLease(ctx context.Context, c *call, w wire.Lease) (leasehold.Lease, error) {
	l, err := w.Lease()
	if err != nil {
		return leasehold.Lease{}, s.failure(ctx, c, errNonsense)
	}
	return l, nil
}
