package api

import (
	"cmp"
	"context"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/wire"
)

// renew serves POST /v1/leases/renew.
func (s *Server) renew(c *call, in wire.RenewRequest) (wire.Owned, error) {
	r, err := in.Request()
	if err = c.usable(err, r, r.ID, r.Holder, r.Resource); err != nil {
		return wire.Owned{}, err
	}
	l, err := within(c, func(ctx context.Context) (leasehold.Lease, error) { return s.store.Renew(ctx, r) })
	return owned(l, err)
}

// release serves POST /v1/leases/release.
func (s *Server) release(c *call, in wire.ReleaseRequest) (wire.Released, error) {
	r, err := in.Request()
	if err = c.usable(err, r, r.ID, r.Holder, r.Resource); err != nil {
		return wire.Released{}, err
	}
	l, err := within(c, func(ctx context.Context) (leasehold.Lease, error) { return s.store.Release(ctx, r) })
	if err != nil {
		return wire.Released{}, err
	}
	return wire.Released{Success: true, Lease: wire.FromLease(l)}, nil
}

// change serves POST /v1/leases/change.
func (s *Server) change(c *call, in wire.ChangeRequest) (wire.Owned, error) {
	changer, ok := s.store.(leasehold.Changer)
	if !ok {
		return wire.Owned{}, c.unsupported()
	}
	r, err := in.Request()
	err = c.usable(err, r, r.ID, r.Holder, r.Resource)
	if l, ok := c.carriedOut(err, r.Proposed); ok && c.caller.MayAct(l.Holder, l.Resource) {
		// It acts on no other lease than the one that was looked at.
		r.Holder, r.Resource, err = cmp.Or(r.Holder, l.Holder), cmp.Or(r.Resource, l.Resource), nil
	}
	if err != nil {
		return wire.Owned{}, err
	}
	l, err := within(c, func(ctx context.Context) (leasehold.Lease, error) { return changer.Change(ctx, r) })
	return owned(l, err)
}

// transfer serves POST /v1/leases/transfer. The new holder need not be one that
// the caller may act for: that is what handing over means.
func (s *Server) transfer(c *call, in wire.TransferRequest) (wire.Lease, error) {
	transferer, ok := s.store.(leasehold.Transferer)
	if !ok {
		return wire.Lease{}, c.unsupported()
	}
	r, err := in.Request()
	err = c.usable(err, r, r.ID, r.Holder, r.Resource)
	if l, ok := c.carriedOut(err, r.Proposed); ok && l.Holder == r.To && c.mayLease(l.Resource) {
		// The old holder is not on record any more; the caller shows both ids
		// instead. As a lease of the new holder it can only be answered for, not
		// handed over.
		r.Holder, r.Resource, err = r.To, cmp.Or(r.Resource, l.Resource), nil
	}
	if err != nil {
		return wire.Lease{}, err
	}
	l, err := within(c, func(ctx context.Context) (leasehold.Lease, error) { return transferer.Transfer(ctx, r) })
	if err != nil {
		return wire.Lease{}, err
	}
	return wire.FromLease(l), nil
}

// get serves POST /v1/leases/get.
func (s *Server) get(c *call, in wire.GetRequest) (wire.Owned, error) {
	finder, ok := s.store.(leasehold.Finder)
	if !ok {
		return wire.Owned{}, c.unsupported()
	}
	id, err := in.Request()
	if err != nil {
		return wire.Owned{}, err
	}
	l, err := within(c, func(ctx context.Context) (leasehold.Lease, error) { return finder.Find(ctx, id) })
	if err == nil && !c.caller.MayAct(l.Holder, l.Resource) {
		err = c.forbidden("")
	}
	return owned(l, err)
}

// owned answers the owner of a lease.
func owned(l leasehold.Lease, err error) (wire.Owned, error) {
	if err != nil {
		return wire.Owned{}, err
	}
	return wire.Owned{Lease: wire.FromLease(l)}, nil
}

// usable checks a request that shows a lease id, if it could be read at all.
func (c *call) usable(err error, r interface{ Validate() error }, id leasehold.ID, holder, resource string) error {
	if err == nil {
		err = r.Validate()
	}
	if err == nil {
		err = c.mayUse(id, holder, resource)
	}
	return err
}

// mayUse checks that a caller who may act only for some holders or on some
// resources may act on the lease behind the id. The id alone does not do: it
// may have come from somebody else's log or chat.
func (c *call) mayUse(id leasehold.ID, holder, resource string) error {
	if len(c.caller.Holders)+len(c.caller.Resources) == 0 {
		return nil // it has the role, or it would not be here
	}
	if finder, ok := c.s.store.(leasehold.Finder); ok {
		l, err := within(c, func(ctx context.Context) (leasehold.Lease, error) { return finder.Find(ctx, id) })
		switch reason := leasehold.ReasonOf(err); {
		case err == nil:
			holder, resource = l.Holder, l.Resource
		case reason != leasehold.ReasonUnsupported:
			return c.named(err)
		}
	}
	// Without a Finder, what was sent is what the store will hold against the
	// lease, so it can be believed; what was not sent cannot.
	if holder == "" || resource == "" || !c.caller.MayAct(holder, resource) {
		return c.forbidden("")
	}
	return nil
}

// carriedOut looks whether a change or transfer that was refused because nobody
// knows the id it shows was carried out before and repeats itself, its answer
// having been lost: then the lease has the proposed id.
func (c *call) carriedOut(refused error, proposed leasehold.ID) (leasehold.Lease, bool) {
	finder, ok := c.s.store.(leasehold.Finder)
	if !ok || proposed.IsZero() || leasehold.ReasonOf(refused) != leasehold.ReasonNotFound {
		return leasehold.Lease{}, false
	}
	l, err := within(c, func(ctx context.Context) (leasehold.Lease, error) { return finder.Find(ctx, proposed) })
	return l, err == nil
}

// mayLease reports whether the caller may lease the resource for some holder.
func (c *call) mayLease(resource string) bool {
	anyHolder := c.caller
	anyHolder.Holders = nil
	return anyHolder.MayAct("", resource)
}

// named puts the call's own name on an error of a step on its way.
func (c *call) named(err error) error {
	if e, ok := err.(*leasehold.Error); ok {
		named := *e
		named.Op = c.endpoint.ID
		return &named
	}
	return err
}
