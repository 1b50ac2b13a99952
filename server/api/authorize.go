package api

import "github.com/leasehold/leasehold"

// checkRequest validates a request that shows a lease id, unless decoding it has
// failed, and authorizes its caller.
func checkRequest(c *call, err error, r interface{ Validate() error }, id leasehold.ID, holder, resource string) error {
	if err == nil {
		err = r.Validate()
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
		case err == nil:
			holder, resource = l.Holder, l.Resource
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

// mayLease reports whether the caller may lease the resource for some holder.
func mayLease(c *call, resource string) bool {
	anyHolder := c.caller
	anyHolder.Holders = nil
	return anyHolder.MayAct("", resource)
}
