package api

import (
	"fmt"
	"strings"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/server/auth"
)

// checkRequest validates a request that shows a lease id, unless decoding it has
// failed, and authorizes its caller.
func checkRequest(c *call, err error, validate func() error, id leasehold.ID, holder, resource string) error {
	if err == nil {
		err = validate()
	}
	if err == nil {
		err = authorizeID(c, id, holder, resource)
	}
	return err
}

// authorizeID checks that a caller who may act only for some holders or on some
// resources may act on the lease behind the id. The id alone is no proof: it may
// have come from somebody else's log or chat.
func authorizeID(c *call, id leasehold.ID, holder, resource string) error {
	if len(c.caller.Holders)+len(c.caller.Resources) == 0 {
		return nil // the role suffices, and run has checked it
	}
	if finder, ok := c.s.store.(leasehold.Finder); ok {
		l, err := callStore(c, finder.Find, id)
		switch reason := leasehold.ReasonOf(err); {
		case err == nil && mayUse(c, l):
			return nil
		case err == nil:
			return c.forbidden("")
		case reason != leasehold.ReasonUnsupported:
			return withOp(c, err)
		}
	}
	// Without a Finder the store itself compares what was sent with the lease;
	// what was not sent proves nothing.
	if holder == "" || resource == "" || !c.caller.MayAct(holder, resource) {
		return c.forbidden("")
	}
	return nil
}

// authorizeAcquire checks that the caller may hold all that it requests. The error
// names what it may not.
func authorizeAcquire(c *call, r leasehold.AcquireRequest) error {
	if len(r.Claims) == 0 && !c.caller.MayAct(r.Holder, r.Resource) {
		return c.forbidden(r.Resource)
	}
	for _, claim := range r.Claims {
		if !c.caller.MayClaim(r.Holder, claim) {
			return &leasehold.Error{Reason: leasehold.ReasonForbidden, Op: c.endpoint.ID, Cause: fmt.Errorf("%.128q", claim)}
		}
	}
	return nil
}

// mayUse reports whether the caller may act on a lease whose id it shows. What a set
// covered is forgotten when it ends: then the holder must do, so that its owner sees
// how it ended. Nothing else can be done with it.
func mayUse(c *call, l leasehold.Lease) bool {
	if isSet(l.Resource) && len(l.Claims) == 0 && !l.State.Locked() {
		anyResource := c.caller
		anyResource.Resources = nil
		return anyResource.MayAct(l.Holder, l.Resource)
	}
	return mayHold(c.caller, l)
}

// mayHold reports whether the caller may hold such a lease.
func mayHold(caller auth.Caller, l leasehold.Lease) bool {
	if len(l.Claims) == 0 {
		return caller.MayAct(l.Holder, l.Resource)
	}
	for _, claim := range l.Claims {
		if !caller.MayClaim(l.Holder, claim) {
			return false
		}
	}
	return true
}

// isSet reports whether the name is one that stores give to leases of claims.
func isSet(resource string) bool { return strings.HasPrefix(resource, leasehold.SetPrefix) }

// withOp puts the call's own name on an error of a step on its way.
func withOp(c *call, err error) error {
	if e, ok := err.(*leasehold.Error); ok {
		named := *e
		named.Op = c.endpoint.ID
		return &named
	}
	return err
}

// findRepeated looks whether a change or transfer that was refused because its id
// is unknown repeats one that was carried out, whose answer was lost: then the
// lease has the proposed id.
func findRepeated(c *call, refused error, proposed leasehold.ID) (leasehold.Lease, bool) {
	finder, ok := c.s.store.(leasehold.Finder)
	if !ok || proposed.IsZero() || leasehold.ReasonOf(refused) != leasehold.ReasonNotFound {
		return leasehold.Lease{}, false
	}
	l, err := callStore(c, finder.Find, proposed)
	return l, err == nil
}

// mayLease reports whether the caller may hold such a lease as some holder.
func mayLease(c *call, l leasehold.Lease) bool {
	anyHolder := c.caller
	anyHolder.Holders = nil
	return mayHold(anyHolder, l)
}
