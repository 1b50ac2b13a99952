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

const rootContainer = "$root"

// address is what a request's URL names.
type address struct {
	ref       catalog.Ref
	level     level
	secondary bool
	lone      bool // a lone name, which stands for a blob of the root container
}

// parseAddress reads the URL of a request.
func (s *Server) parseAddress(c *call) error {
	var err error
	if c.query, err = sign.ParseQuery(c.r.URL.RawQuery); err != nil {
		return err
	}
	if err := s.checkHost(c.r.Host); err != nil && !c.api.authenticated { // the main port has checked already
		return err
	}
	a, path, err := s.parseAccount(c.r, c.api)
	if err != nil {
		return err
	}
	c.restype = c.api.restype(c.query, path)
	if err := a.parsePath(path, c.restype); err != nil {
		return err
	}
	c.address = a
	c.api.complete(c)
	return nil
}

// parseAccount reads the account from the host or from the path as it was sent,
// and returns the path behind it. It cleans nothing: "a//b" and "a/../b" are names
// of blobs like any other, and an escaped slash is a slash of the blob's name.
func (s *Server) parseAccount(r *http.Request, api *api) (a address, path string, _ error) {
	path = sign.SentPath(r)
	if api.prefix != "" {
		var below bool
		if path, below = strings.CutPrefix(path, api.prefix); !below {
			return a, "", azerr.New(azerr.InvalidUri)
		}
	}
	path, rooted := strings.CutPrefix(path, "/")
	if !rooted {
		return a, "", azerr.New(azerr.InvalidUri)
	}
	name := firstLabel(r.Host)
	if _, known := s.accounts.Lookup(name); !known || api.prefix != "" {
		name, path, _ = strings.Cut(path, "/")
	}
	account, known := s.accounts.Lookup(name)
	switch {
	case known:
		a.ref.Account = account.Name
	case api.anyAccount:
		if a.ref.Account, known = sign.AccountName(name); !known {
			return a, "", azerr.New(azerr.ResourceNotFound).With("%.40q is no name of an account: it has 3 to 24 characters, lower-case letters and digits.", name)
		}
	default:
		return a, "", azerr.New(azerr.ResourceNotFound).With("This server has no account of that name.")
	}
	a.secondary = name != a.ref.Account
	return a, path, nil
}

// parsePath reads the path behind the account.
func (a *address) parsePath(path, restype string) error {
	container, blob, hasBlob := strings.Cut(path, "/")
	var err error
	if a.ref.Container, err = url.PathUnescape(container); err != nil {
		return azerr.New(azerr.InvalidUri)
	}
	if a.ref.Blob, err = url.PathUnescape(blob); err != nil {
		return azerr.New(azerr.InvalidUri)
	}
	switch {
	case a.ref.Container == "" && a.ref.Blob == "":
		a.level = atService
		return nil
	case !hasBlob && restype == "" && a.ref.Container != rootContainer:
		// A lone name is a blob of the root container, unless the request says
		// that it is about a container.
		a.ref.Container, a.ref.Blob, a.lone = rootContainer, a.ref.Container, true
	case a.ref.Blob == "" && hasBlob && restype == "":
		return azerr.New(azerr.InvalidUri).With("The blob has no name.")
	}
	a.level = atContainer
	if err := catalog.CheckContainer(a.ref.Container); err != nil {
		return err
	}
	if a.ref.Blob != "" {
		a.level = atBlob
		return catalog.CheckBlob(a.ref.Blob)
	}
	return nil
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

// endpoint returns the URL of the account as the client knows it.
func (s *Server) endpoint(c *call) string {
	scheme := "http://"
	if c.r.TLS != nil {
		scheme = "https://"
	}
	if _, inHost := s.accounts.Lookup(firstLabel(c.r.Host)); inHost && c.api.prefix == "" {
		return scheme + c.r.Host + "/"
	}
	account := c.ref.Account
	if c.secondary {
		account += "-secondary"
	}
	return scheme + c.r.Host + c.api.prefix + "/" + account + "/"
}
