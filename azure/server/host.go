package server

import (
	"net"
	"slices"
	"strings"

	"github.com/leasehold/leasehold/azure/azerr"
)

// accountDomains are those below which tools look for an account, and nobody
// else can put a name.
var accountDomains = []string{"localhost", "blob.localhost", "blob.core.windows.net"}

// checkHost refuses a request to a name that is not this server's.
func (s *Server) checkHost(host string) error {
	if len(s.hosts) == 0 {
		return nil
	}
	name := strings.ToLower(host)
	if bare, _, err := net.SplitHostPort(name); err == nil {
		name = bare
	}
	if slices.Contains(s.hosts, strings.Trim(name, "[]")) {
		return nil
	}
	label, domain, _ := strings.Cut(name, ".")
	if _, known := s.accounts.Lookup(label); known && (slices.Contains(accountDomains, domain) || slices.Contains(s.hosts, domain)) {
		return nil
	}
	return azerr.New(azerr.AuthorizationFailure).With("%.80q is no name of this server; it answers to %s.", host, strings.Join(s.hosts, ", "))
}
