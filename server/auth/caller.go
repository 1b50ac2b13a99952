package auth

import (
	"context"
	"slices"
	"strings"

	"github.com/leasehold/leasehold"
)

// Role is what a token may do.
type Role string

// The roles. Each is separate: an operator that also holds leases has both.
const (
	RoleReader   Role = "reader"   // lists, history, events, metrics, console
	RoleHolder   Role = "holder"   // acquire, renew, release, change, transfer
	RoleOperator Role = "operator" // break, force-release, cleanup, settings, backup
)

// Caller is who a request comes from. Callers are shared between requests:
// read them, never change what their slices hold.
type Caller struct {
	// Name is the token's name, or "local" on an open listener. It is the key
	// of limits and logs.
	Name string

	Roles []Role

	// Holders and Resources narrow RoleHolder: exact names, or prefixes that
	// end in "*". Empty: any.
	Holders   []string
	Resources []string
}

// Has reports whether the caller has the role.
func (c Caller) Has(r Role) bool { return slices.Contains(c.Roles, r) }

// MayAct reports whether the caller may hold this resource as this holder.
func (c Caller) MayAct(holder, resource string) bool {
	return c.Has(RoleHolder) && covers(c.Holders, holder) && covers(c.Resources, resource)
}

// MayRelease reports whether the caller may end all leases of a holder, and of all
// holders below it, without their ids. Its Holders must name them: a caller without
// Holders may be any of them, but none is its own.
func (c Caller) MayRelease(holder string, children bool) bool {
	if !c.Has(RoleHolder) || len(c.Holders) == 0 || !covers(c.Holders, holder) {
		return false
	}
	return !children || coversAll(c.Holders, holder+"/")
}

// MayClaim reports whether the caller may hold the claim as this holder: if Resources
// allow every name that fits it. The name of a path is that of its namespace, the
// separator unless the namespace ends in it, and the path.
func (c Caller) MayClaim(holder string, claim leasehold.Claim) bool {
	if claim.Namespace == "" || len(c.Resources) == 0 {
		return c.MayAct(holder, claim.Pattern)
	}
	separator := leasehold.Separator(claim.Namespace)
	root := strings.TrimSuffix(claim.Namespace, separator) + separator
	literal, rest, wild := strings.Cut(claim.Pattern, "*")
	if !wild {
		return c.MayAct(holder, root+literal)
	}
	if !c.Has(RoleHolder) || !covers(c.Holders, holder) || !coversAll(c.Resources, root+literal) {
		return false
	}
	// A pattern such as src/** fits src as well.
	above, cut := strings.CutSuffix(literal, separator)
	return !cut || !onlyDeep("*"+rest, separator) || covers(c.Resources, root+above)
}

// onlyDeep reports whether all segments are **, so that none at all fits, too.
func onlyDeep(pattern, separator string) bool {
	for segment := range strings.SplitSeq(pattern, separator) {
		if segment != "**" {
			return false
		}
	}
	return true
}

// coversAll reports whether all names that begin so are covered.
func coversAll(patterns []string, prefix string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		begin, open := strings.CutSuffix(p, "*")
		return open && strings.HasPrefix(prefix, begin)
	})
}

func covers(patterns []string, name string) bool {
	if len(patterns) == 0 {
		return true
	}
	return slices.ContainsFunc(patterns, func(p string) bool {
		prefix, open := strings.CutSuffix(p, "*")
		return name == p || open && strings.HasPrefix(name, prefix)
	})
}

// Local is the caller on an open listener: it may do anything.
var Local = Caller{Name: localName, Roles: []Role{RoleReader, RoleHolder, RoleOperator}}

const localName = "local"

type key struct{}

// With returns a context that carries the caller.
func With(ctx context.Context, c Caller) context.Context { return with(ctx, &c) }

// with saves a copy of the caller for each request.
func with(ctx context.Context, c *Caller) context.Context {
	return context.WithValue(ctx, key{}, c)
}

// From returns the caller that the context carries: nobody, if none.
func From(ctx context.Context) Caller {
	if c, ok := ctx.Value(key{}).(*Caller); ok {
		return *c
	}
	return Caller{}
}
