package blob

import (
	"net"
	"slices"
	"strings"

	"github.com/leasehold/leasehold/server/blob/fault"
)

// checkHost refuses a request to a name that is not this server's.
func (s *Server) checkHost(host string) error {
	if len(s.hosts) == 0 {
		return nil
	}
	if _, known := s.accounts.Lookup(firstLabel(host)); known {
		return nil
	}
	name := strings.ToLower(host)
	if bare, _, err := net.SplitHostPort(name); err == nil {
		name = bare
	}
	if slices.Contains(s.hosts, strings.Trim(name, "[]")) {
		return nil
	}
	return fault.New(fault.AuthorizationFailure).With("%.80q is no name of this server; it answers to %s.", host, strings.Join(s.hosts, ", "))
}
