package server

import (
	"errors"
	"net/http"
	"time"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/azure/sign"
	"github.com/leasehold/leasehold/server/auth"
)

// authorise decides whether the caller may do what it asks for: by the main
// port's word, by the account's key, by a shared access signature, or because
// the container is open to everybody.
func (s *Server) authorise(c *call) error {
	if c.dialect.open {
		return c.allowCaller()
	}
	account, _ := s.accounts.Lookup(c.ref.Account)
	if first(c.r.Header, "Authorization") != "" {
		return sign.SharedKey(c.r, account, sign.AsSent(c.r), c.query, time.Now())
	}
	sas, has, err := sign.Parse(c.query.Values())
	switch {
	case err != nil:
		return err
	case has:
		return s.allowSAS(c, account, sas)
	case c.outer != nil && c.outer.sas != nil:
		return s.allowSAS(c, account, c.outer.sas)
	}
	return s.allowAnybody(c)
}

// allowCaller asks what the main port knows about the caller.
func (c *call) allowCaller() error {
	who := auth.From(c.r.Context())
	switch {
	case who.Name == "":
		return unauthenticated()
	case c.op.Operate && !who.Has(auth.RoleOperator):
		return azerr.New(azerr.AuthorizationFailure).With("This takes a token with the role operator.")
	case c.op.Operate:
		return nil
	case c.op.Write && !who.MayAct(c.ref.Holder(), c.ref.Resource()):
		return azerr.New(azerr.AuthorizationFailure).With("Writing takes a token with the role holder, for this holder and resource.")
	case !c.op.Write && !who.Has(auth.RoleReader):
		return azerr.New(azerr.AuthorizationFailure).With("Reading takes a token with the role reader.")
	}
	return nil
}

// allowSAS looks at a shared access signature.
func (s *Server) allowSAS(c *call, account sign.Account, sas *sign.SAS) error {
	policy, err := s.policy(c, sas.Identifier())
	if err != nil {
		return err
	}
	target := sign.Target{Container: c.ref.Container, Blob: c.ref.Blob, Snapshot: c.query.Get("snapshot")}
	err = sas.Verify(account, target, c.op.Need, time.Now(), c.remote(), c.r.TLS != nil, policy)
	if err != nil {
		return err
	}
	c.sas, c.policy = sas, policy
	return nil
}

// policy returns the stored access policy of that id; nil if there is none.
func (s *Server) policy(c *call, id string) (*sign.Policy, error) {
	if id == "" || c.ref.Container == "" {
		return nil, nil
	}
	container, err := s.container(c)
	if container == nil {
		return nil, err
	}
	for _, p := range container.Policies {
		if p.ID == id {
			return storedPolicy(p), nil
		}
	}
	return nil, nil
}

// storedPolicy reads a policy. Its times were checked when it was set: one that
// has others now is none, and grants nothing.
func storedPolicy(p catalog.Policy) *sign.Policy {
	start, err := sign.ParseTime(p.Start)
	expiry, err2 := sign.ParseTime(p.Expiry)
	if err != nil || err2 != nil {
		return nil
	}
	return &sign.Policy{Start: start, Expiry: expiry, Permissions: p.Permissions}
}

// allowAnybody lets those without credentials read what is public. They do not
// learn whether anything else is there.
func (s *Server) allowAnybody(c *call) error {
	if c.op.Public == "" {
		return unauthenticated()
	}
	container, err := s.container(c)
	switch {
	case err != nil:
		return err
	case container == nil || !c.op.Public.by(container.Public):
		return azerr.New(azerr.ResourceNotFound)
	}
	c.anonymous = true
	return nil
}

// by reports whether a container that is open this far is open far enough.
func (p publicAccess) by(open string) bool {
	return open == string(publicContainer) || open == string(p)
}

// container returns the container that the request is about, nil if there is
// none.
func (s *Server) container(c *call) (*catalog.Container, error) {
	ref := catalog.Ref{Account: c.ref.Account, Container: c.ref.Container}
	found, err := s.catalog.Container(c.r.Context(), ref, catalog.Access{})
	var f *azerr.Error
	if errors.As(err, &f) && f.Code == azerr.ContainerNotFound {
		return nil, nil
	}
	return found, err
}

func unauthenticated() error {
	f := azerr.New(azerr.NoAuthenticationInformation)
	f.Header = http.Header{"Www-Authenticate": {"SharedKey"}}
	return f
}
