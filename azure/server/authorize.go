package server

import (
	"net/http"
	"time"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/azure/sign"
	"github.com/leasehold/leasehold/server/auth"
)

// authorize decides whether the caller may call the operation: by its role on the
// main port, by the account's key, by a shared access signature, or because the
// container is public.
func (s *Server) authorize(c *call) error {
	if c.api.authenticated {
		return c.authorizeCaller()
	}
	account, _ := s.accounts.Lookup(c.ref.Account)
	if first(c.r.Header, "Authorization") != "" {
		return sign.SharedKey(c.r, account, sign.SentPath(c.r), c.query, time.Now())
	}
	sas, has, err := sign.Parse(c.query.Values())
	switch {
	case err != nil:
		return err
	case has:
		return s.authorizeSAS(c, account, sas)
	case c.batch != nil && c.batch.sas != nil:
		return s.authorizeSAS(c, account, c.batch.sas)
	}
	return s.authorizeAnonymous(c)
}

// authorizeCaller goes by the roles that the main port knows.
func (c *call) authorizeCaller() error {
	caller := auth.From(c.r.Context())
	switch {
	case caller.Name == "":
		return unauthenticated()
	case c.op.Operate && !caller.Has(auth.RoleOperator):
		return azerr.New(azerr.AuthorizationFailure).With("This takes a token with the role operator.")
	case c.op.Operate:
		return nil
	case c.op.Write && !caller.MayAct(c.ref.Holder(), c.ref.Resource()):
		return azerr.New(azerr.AuthorizationFailure).With("Writing takes a token with the role holder, for this holder and resource.")
	case !c.op.Write && !caller.Has(auth.RoleReader):
		return azerr.New(azerr.AuthorizationFailure).With("Reading takes a token with the role reader.")
	}
	return nil
}

// authorizeSAS verifies a shared access signature and keeps it for call.may.
func (s *Server) authorizeSAS(c *call, account sign.Account, sas *sign.SAS) error {
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
	container, err := s.findContainer(c)
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

// storedPolicy reads a policy. Its times were validated when it was set: one that
// has others now grants nothing.
func storedPolicy(p catalog.Policy) *sign.Policy {
	start, err := sign.ParseTime(p.Start)
	expiry, err2 := sign.ParseTime(p.Expiry)
	if err != nil || err2 != nil {
		return nil
	}
	return &sign.Policy{Start: start, Expiry: expiry, Permissions: p.Permissions}
}

// authorizeAnonymous lets callers without credentials read what is public. They
// do not learn whether anything else is there.
func (s *Server) authorizeAnonymous(c *call) error {
	if c.op.Public == "" {
		return unauthenticated()
	}
	container, err := s.findContainer(c)
	switch {
	case err != nil:
		return err
	case container == nil || !c.op.Public.within(container.Public):
		return azerr.New(azerr.ResourceNotFound)
	}
	c.anonymous = true
	return nil
}

// within reports whether a container that is open this far is open far enough.
func (p publicAccess) within(open string) bool {
	return open == string(publicContainer) || open == string(p)
}

// findContainer returns the container of the request, nil if there is none.
func (s *Server) findContainer(c *call) (*catalog.Container, error) {
	ref := catalog.Ref{Account: c.ref.Account, Container: c.ref.Container}
	found, err := s.catalog.Container(c.r.Context(), ref, catalog.Access{})
	if azerr.HasCode(err, azerr.ContainerNotFound) {
		return nil, nil
	}
	return found, err
}

// authorizeTags refuses callers who may not read and set tags, whatever they use
// them for: readers of a blob must not find its tags by guessing in a condition.
func (c *call) authorizeTags(use string) error {
	switch {
	case c.may("t"):
		return nil
	case c.anonymous:
		return unauthenticated()
	}
	return azerr.New(azerr.AuthorizationPermissionMismatch).With("%s takes the permission t.", use)
}

func unauthenticated() error {
	err := azerr.New(azerr.NoAuthenticationInformation)
	err.Header = http.Header{"Www-Authenticate": {"SharedKey"}}
	return err
}
