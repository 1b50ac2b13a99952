package mcp

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/server/auth"
)

// Headers by which the configuration of an MCP client says who the agent is. Query
// parameters of the address do the same, for clients that send no headers.
const (
	HolderHeader    = "Leasehold-Holder"    // or ?holder=…
	NamespaceHeader = "Leasehold-Namespace" // or ?namespace=…
)

// Identity is who calls the tools. It comes from configuration, never from the model.
type Identity struct {
	// Holder names the agent to others. Two agents must never share one.
	Holder string

	// Namespace is that of paths whose request names none. Empty: it must.
	Namespace string

	// Caller is what the agent may do. A zero one may nothing.
	Caller auth.Caller
}

// Check checks the names.
func (i Identity) Check() error {
	if err := leasehold.CheckHolder(i.Holder); err != nil || i.Namespace == "" {
		return err
	}
	return leasehold.CheckClaims(leasehold.Paths(i.Namespace, "x"))
}

// errNoHolder is what an acquire gets over HTTP from a client that is nobody.
var errNoHolder = &leasehold.Error{
	Reason: leasehold.ReasonHolderMismatch, Field: HolderHeader,
	Problem: "is missing: this server does not know who you are",
}

// identify finds out who sends a request: its token's one holder, or whom the
// configuration names. The error is why there is no holder; the caller may read
// nevertheless.
func identify(r *http.Request) (Identity, error) {
	i := Identity{Caller: auth.From(r.Context())}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return i, leasehold.Invalid("query", "cannot be read")
	}
	if i.Holder, err = configured(r, query, HolderHeader, "holder"); err != nil {
		return i, err
	}
	if i.Namespace, err = configured(r, query, NamespaceHeader, "namespace"); err != nil {
		return i, err
	}
	if i.Holder == "" {
		i.Holder = onlyHolder(i.Caller)
	}
	if i.Holder == "" {
		return i, errNoHolder
	}
	return i, i.Check()
}

// configured returns what a header or a query parameter says. It must say so once.
func configured(r *http.Request, query url.Values, header, parameter string) (string, error) {
	said := append(append([]string{}, r.Header.Values(header)...), query[parameter]...)
	for _, value := range said {
		if value == "" || value != said[0] {
			return "", leasehold.Invalid(header, "is empty, or is there twice; configure it once, as a header or as ?%s= of the address", parameter)
		}
	}
	if len(said) == 0 {
		return "", nil
	}
	return said[0], nil
}

// onlyHolder returns the name that a token stands for, if it is a single one.
func onlyHolder(c auth.Caller) string {
	if len(c.Holders) == 1 && !strings.HasSuffix(c.Holders[0], "*") {
		return c.Holders[0]
	}
	return ""
}

// session is who called, and for how long somebody waits for the answer. It travels
// in the context: the protocol's own contexts do not end with a request of an older
// revision.
type session struct {
	identity Identity
	problem  error // why there is no holder
	alive    context.Context
	held     *heldLeases // of a stream; nil over HTTP
}

type sessionKey struct{}

func withSession(ctx context.Context, s *session) context.Context {
	return context.WithValue(ctx, sessionKey{}, s)
}

func sessionOf(ctx context.Context) *session {
	if s, ok := ctx.Value(sessionKey{}).(*session); ok {
		return s
	}
	return &session{problem: errNoHolder, alive: ctx}
}
