package mcp

import (
	"fmt"
	"strings"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/server/auth"
)

func (c *call) forbidden(format string, args ...any) error {
	return &leasehold.Error{Reason: leasehold.ReasonForbidden, Op: c.op, Cause: fmt.Errorf(format, args...)}
}

// checkRole refuses a caller without the role.
func (c *call) checkRole(role auth.Role) error {
	if !c.caller().Has(role) {
		return c.forbidden("the token of this client has no role %s", role)
	}
	return nil
}

// checkHolder refuses a caller that is no holder, or is nobody.
func (c *call) checkHolder() error {
	if err := c.checkRole(auth.RoleHolder); err != nil {
		return err
	}
	if c.session.problem != nil {
		return c.session.problem
	}
	anyResource := c.caller()
	anyResource.Resources = nil
	if !anyResource.MayAct(c.holder(), "") {
		return c.forbidden("the token of this client may not act as %.128q, which its configuration names", c.holder())
	}
	return nil
}

// checkClaims refuses names that other parts of the server acquire, and what the caller
// may not hold.
func (c *call) checkClaims(claims []leasehold.Claim) error {
	for _, claim := range claims {
		if err := checkName(claim); err != nil {
			return err
		}
		if !c.caller().MayClaim(c.holder(), claim) {
			return c.forbidden("the token of this client may not hold %.128q", claim)
		}
	}
	return nil
}

func checkName(claim leasehold.Claim) error {
	if claim.Namespace != "" {
		return nil
	}
	for _, prefix := range []string{"blob:", leasehold.HealthPrefix} {
		if strings.HasPrefix(claim.Pattern, prefix) {
			return leasehold.Invalid("resources", "has a name that begins with %s, whose leases cannot be acquired here; choose another name", prefix)
		}
	}
	return nil
}

// checkLease checks that a caller who may hold only some resources may act on the
// lease behind the id. That it is the holder's own the store compares by itself.
func (c *call) checkLease(id leasehold.ID) error {
	if err := c.checkHolder(); err != nil || len(c.caller().Resources) == 0 {
		return err
	}
	l, err := c.find(id)
	if err != nil || !l.State.Locked() { // ended: what it covered may be forgotten, and nothing can be done with it
		return err
	}
	if l.Holder != c.holder() {
		return &leasehold.Error{Reason: leasehold.ReasonHolderMismatch, Op: c.op}
	}
	return c.checkClaims(covered(l))
}

// covered returns what a lease covers.
func covered(l leasehold.Lease) []leasehold.Claim {
	if len(l.Claims) > 0 {
		return l.Claims
	}
	return leasehold.Resources(l.Resource)
}
