package auth

import (
	"slices"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
)

const (
	maxName     = 64  // bytes
	maxPatterns = 256 // of holders, and of resources
)

// TokenSpec is what a new token shall be.
type TokenSpec struct {
	// Name is the key of limits and logs: 1 to 64 characters of
	// A-Z a-z 0-9 _ . : @ / -, and not "local".
	Name string

	// Roles are at least one.
	Roles []Role

	// Holders and Resources narrow RoleHolder: exact names, or prefixes that
	// end in "*". Empty: any.
	Holders   []string
	Resources []string

	// Expires is when the token ends. Nil: never. A zero time is the year 1,
	// which is over.
	Expires *time.Time

	// Cert is a name in a client certificate. With it the certificate stands
	// for the token, and there is no secret.
	Cert string
}

// Token is an entry of the token file, without its hash.
type Token struct {
	Name      string     `json:"name"`
	Cert      string     `json:"cert,omitempty"`
	Roles     []Role     `json:"roles"`
	Holders   []string   `json:"holders,omitempty"`
	Resources []string   `json:"resources,omitempty"`
	Created   time.Time  `json:"created,omitzero"`
	Expires   *time.Time `json:"expires,omitempty"` // nil: never
}

// Expired reports whether the token has ended.
func (t Token) Expired(now time.Time) bool { return t.Expires != nil && !now.Before(*t.Expires) }

func (s TokenSpec) token(now time.Time) Token {
	t := Token{
		Name: s.Name, Cert: s.Cert, Roles: s.Roles, Holders: nilIfEmpty(s.Holders), Resources: nilIfEmpty(s.Resources),
		Created: now.UTC().Truncate(time.Second),
	}
	if s.Expires != nil {
		t.Expires = new(s.Expires.UTC().Truncate(time.Second))
	}
	return t
}

// nilIfEmpty is nil for an empty list. In a spec both mean any.
func nilIfEmpty(patterns []string) []string {
	if len(patterns) == 0 {
		return nil
	}
	return patterns
}

func (t Token) validate() error {
	for _, check := range []func(Token) error{checkName, checkRoles, checkCert, checkExpiry, checkNarrowing, checkPatterns} {
		if err := check(t); err != nil {
			return err
		}
	}
	return nil
}

func checkName(t Token) error {
	const others = "_.:@/-"
	strange := func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && !strings.ContainsRune(others, r)
	}
	switch {
	case t.Name == "":
		return leasehold.Invalid("name", "is missing")
	case len(t.Name) > maxName:
		return leasehold.Invalid("name", "has %d bytes; the limit is %d", len(t.Name), maxName)
	case strings.ContainsFunc(t.Name, strange):
		return leasehold.Invalid("name", "%q has other characters than A-Z a-z 0-9 _ . : @ / -", hideSecrets(t.Name))
	case strings.HasPrefix(t.Name, secretPrefix):
		return leasehold.Invalid("name", "begins like a secret; names are shown, choose another")
	case t.Name == localName:
		return leasehold.Invalid("name", "%q is the name of callers without a token; choose another", localName)
	}
	return nil
}

func checkRoles(t Token) error {
	if len(t.Roles) == 0 {
		return leasehold.Invalid("roles", "are missing; want some of reader, holder, operator")
	}
	for i, r := range t.Roles {
		if !slices.Contains(Local.Roles, r) {
			return leasehold.Invalid("roles", "have %.32q; want some of reader, holder, operator", hideSecrets(string(r)))
		}
		if slices.Contains(t.Roles[:i], r) {
			return leasehold.Invalid("roles", "have %q twice", r)
		}
	}
	return nil
}

func checkCert(t Token) error {
	if t.Cert == "" {
		return nil
	}
	return withField("cert", leasehold.CheckResource(t.Cert))
}

// checkExpiry refuses years that JSON cannot write.
func checkExpiry(t Token) error {
	if t.Expires != nil && t.Expires.UTC().Year() > 9999 || t.Created.UTC().Year() > 9999 {
		return leasehold.Invalid("expires and created", "want a year up to 9999")
	}
	return nil
}

// checkNarrowing refuses two dangerous mistakes: to believe that an operator was
// narrowed, or that an empty list means nobody.
func checkNarrowing(t Token) error {
	for field, patterns := range map[string][]string{"holders": t.Holders, "resources": t.Resources} {
		if patterns != nil && len(patterns) == 0 {
			return leasehold.Invalid(field, "is an empty list; leave it out for any, or name them")
		}
	}
	if len(t.Holders)+len(t.Resources) > 0 && !slices.Contains(t.Roles, RoleHolder) {
		return leasehold.Invalid("roles", "lack holder, the only role that holders and resources narrow")
	}
	return nil
}

func checkPatterns(t Token) error {
	if n := max(len(t.Holders), len(t.Resources)); n > maxPatterns {
		return leasehold.Invalid("holders and resources", "have %d patterns; the limit is %d", n, maxPatterns)
	}
	for _, p := range t.Holders {
		if err := leasehold.CheckHolder(p); err != nil {
			return withField("holders", err)
		}
	}
	for _, p := range t.Resources {
		if err := leasehold.CheckResource(p); err != nil {
			return withField("resources", err)
		}
	}
	return nil
}

// withField names the token's field in an error about a name.
func withField(field string, err error) error {
	if e, ok := err.(*leasehold.Error); ok {
		e.Field = field
	}
	return err
}
