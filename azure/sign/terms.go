package sign

import (
	"cmp"
	"time"
)

// terms are what the SAS and the stored policy grant together. Each field is
// in one of them: a policy is there to be changed or withdrawn, which a SAS
// that says the same field itself would undermine.
func (s *SAS) terms(stored *Policy) (Policy, error) {
	own := Policy{s.start, s.expiry, s.values["sp"]}
	if s.Identifier() == "" {
		return own, nil
	}
	if stored == nil {
		return Policy{}, unauthentic("The container has no stored access policy %q (si).", s.Identifier())
	}
	switch {
	case own.Start != nil && stored.Start != nil:
		return Policy{}, twice("st")
	case own.Expiry != nil && stored.Expiry != nil:
		return Policy{}, twice("se")
	case own.Permissions != "" && stored.Permissions != "":
		return Policy{}, twice("sp")
	}
	both := Policy{cmp.Or(own.Start, stored.Start), cmp.Or(own.Expiry, stored.Expiry), own.Permissions + stored.Permissions}
	switch {
	case both.Expiry == nil:
		return Policy{}, nowhere("se")
	case both.Permissions == "":
		return Policy{}, nowhere("sp")
	}
	return both, nil
}

func twice(name string) error {
	return unauthentic("The shared access signature and its stored access policy both state %s: leave it to one of them.", name)
}

func nowhere(name string) error {
	return unauthentic("Neither the shared access signature nor its stored access policy states %s.", name)
}

func (p Policy) valid(now time.Time) error {
	switch {
	case p.Start != nil && now.Before(*p.Start):
		return unauthentic("The shared access signature is valid from %s, and it is %s by this server's clock.", clock(*p.Start), clock(now))
	case p.Expiry == nil: // terms and check want one
		return nowhere("se")
	case !now.Before(*p.Expiry):
		return unauthentic("The shared access signature expired at %s, and it is %s by this server's clock.", clock(*p.Expiry), clock(now))
	}
	return nil
}

func clock(t time.Time) string { return t.UTC().Format(time.RFC3339) }
