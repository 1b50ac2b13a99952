package server

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/azure/sign"
)

const (
	rootContainer = "$root"
	dialectPrefix = "/blob" // where the main port has its face of the door
)

// address is what a request's URL names.
type address struct {
	catalog.Ref
	level     level
	secondary bool
	lone      bool // a lone name, taken for a blob of the root container
}

// accountOf reads the account from the host or from the path as it was sent, and
// returns what is behind it. Nothing is cleaned: "a//b" and "a/../b" are names of
// blobs like any other, and an escaped slash is a slash of the blob's name.
func (s *Server) accountOf(r *http.Request, d *dialect) (a address, rest string, _ error) {
	path := sign.AsSent(r)
	if d.prefix != "" {
		var below bool
		if path, below = strings.CutPrefix(path, d.prefix); !below {
			return a, "", azerr.New(azerr.InvalidUri)
		}
	}
	path, rooted := strings.CutPrefix(path, "/")
	if !rooted {
		return a, "", azerr.New(azerr.InvalidUri)
	}
	name := firstLabel(r.Host)
	if _, known := s.accounts.Lookup(name); !known || d.prefix != "" {
		name, path, _ = strings.Cut(path, "/")
	}
	account, known := s.accounts.Lookup(name)
	switch {
	case known:
		a.Account = account.Name
	case d.anyAccount:
		if a.Account, known = sign.CouldBe(name); !known {
			return a, "", azerr.New(azerr.ResourceNotFound).With("%.40q is no name of an account: it has 3 to 24 characters, lower-case letters and digits.", name)
		}
	default:
		return a, "", azerr.New(azerr.ResourceNotFound).With("This server has no account of that name.")
	}
	a.secondary = name != a.Account
	return a, path, nil
}

// name reads what is behind the account.
func (a address) name(path, restype string) (address, error) {
	container, blob, hasBlob := strings.Cut(path, "/")
	var bad error
	if a.Container, bad = url.PathUnescape(container); bad != nil {
		return a, azerr.New(azerr.InvalidUri)
	}
	if a.Blob, bad = url.PathUnescape(blob); bad != nil {
		return a, azerr.New(azerr.InvalidUri)
	}
	switch {
	case a.Container == "" && a.Blob == "":
		a.level = atService
		return a, nil
	case !hasBlob && restype == "" && a.Container != rootContainer:
		// A lone name is a blob of the root container, unless the request says
		// that it is about a container.
		a.Container, a.Blob, a.lone = rootContainer, a.Container, true
	case a.Blob == "" && hasBlob && restype == "":
		return a, azerr.New(azerr.InvalidUri).With("The blob has no name.")
	}
	a.level = atContainer
	if err := catalog.CheckContainer(a.Container); err != nil {
		return a, err
	}
	if a.Blob != "" {
		a.level = atBlob
		return a, catalog.CheckBlob(a.Blob)
	}
	return a, nil
}

// firstLabel of a host that has more than one: a bare name is a machine's.
func firstLabel(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	label, _, more := strings.Cut(host, ".")
	if !more {
		return ""
	}
	return strings.ToLower(label)
}

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
