package auth

import (
	"context"
	"slices"
	"strings"
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
