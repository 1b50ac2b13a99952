package api

import (
	"cmp"
	"log/slog"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/wire"
)

// renew serves POST /v1/leases/renew.
func renew(c *call, in wire.RenewRequest) (wire.Owned, error) {
	r, err := in.Request()
	if err = checkRequest(c, err, r.Validate, r.ID, r.Holder, r.Resource); err != nil {
		return wire.Owned{}, err
	}
	l, err := callStore(c, c.s.store.Renew, r)
	if err == nil {
		c.logLease(slog.LevelDebug, "renewed", l)
	}
	return owned(l, err)
}

// release serves POST /v1/leases/release.
func release(c *call, in wire.ReleaseRequest) (wire.Released, error) {
	r, err := in.Request()
	if err = checkRequest(c, err, r.ValidateAll, r.ID, r.Holder, r.Resource); err != nil {
		return wire.Released{}, err
	}
	l, err := callStore(c, c.s.store.Release, r)
	if err != nil {
		return wire.Released{}, err
	}
	c.logLease(slog.LevelInfo, "released", l)
	return wire.Released{Success: true, Lease: wire.FromLease(l)}, nil
}

// change serves POST /v1/leases/change.
func change(c *call, in wire.ChangeRequest) (wire.Owned, error) {
	changer, ok := c.s.store.(leasehold.Changer)
	if !ok {
		return wire.Owned{}, c.unsupported()
	}
	r, err := in.Request()
	err = checkRequest(c, err, r.Validate, r.ID, r.Holder, r.Resource)
	if l, ok := findRepeated(c, err, r.Proposed); ok && mayUse(c, l) {
		// It must act on no other lease than the one that was found.
		r.Holder, r.Resource, err = cmp.Or(r.Holder, l.Holder), cmp.Or(r.Resource, l.Resource), nil
	}
	if err != nil {
		return wire.Owned{}, err
	}
	l, err := callStore(c, changer.Change, r)
	if err == nil {
		c.logLease(slog.LevelInfo, "changed the lease id", l)
	}
	return owned(l, err)
}

// transfer serves POST /v1/leases/transfer. The new holder need not be one that
// the caller may act for: that is what handing over means.
func transfer(c *call, in wire.TransferRequest) (wire.Lease, error) {
	transferer, ok := c.s.store.(leasehold.Transferer)
	if !ok {
		return wire.Lease{}, c.unsupported()
	}
	r, err := in.Request()
	err = checkRequest(c, err, r.ValidateAll, r.ID, r.Holder, r.Resource)
	if l, ok := findRepeated(c, err, r.Proposed); ok && l.Holder == r.To && mayLease(c, l) {
		// The store no longer knows the old holder; the caller shows both ids
		// instead. As a request of the new holder it can only be answered again,
		// not carried out.
		r.Holder, r.Resource, err = r.To, cmp.Or(r.Resource, l.Resource), nil
	}
	if err != nil {
		return wire.Lease{}, err
	}
	l, err := callStore(c, transferer.Transfer, r)
	if err != nil {
		return wire.Lease{}, err
	}
	c.logLease(slog.LevelInfo, "transferred", l)
	return wire.FromLease(l), nil
}

// get serves POST /v1/leases/get.
func get(c *call, in wire.GetRequest) (wire.Owned, error) {
	finder, ok := c.s.store.(leasehold.Finder)
	if !ok {
		return wire.Owned{}, c.unsupported()
	}
	id, err := in.Request()
	if err != nil {
		return wire.Owned{}, err
	}
	l, err := callStore(c, finder.Find, id)
	if err == nil && !mayUse(c, l) {
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
