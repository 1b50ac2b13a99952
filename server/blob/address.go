package blob

import (
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/leasehold/leasehold/server/blob/catalog"
	"github.com/leasehold/leasehold/server/blob/fault"
	"github.com/leasehold/leasehold/server/blob/sign"
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
}

// addressOf reads the address from the path as it was sent. Nothing is cleaned:
// "a//b" and "a/../b" are names of blobs like any other, and an escaped slash is
// a slash of the blob's name.
func (s *Server) addressOf(r *http.Request, d *dialect, restype string) (address, error) {
	path := sign.AsSent(r)
	if d.prefix != "" {
		var below bool
		if path, below = strings.CutPrefix(path, d.prefix); !below {
			return address{}, fault.New(fault.InvalidUri)
		}
	}
	path, rooted := strings.CutPrefix(path, "/")
	if !rooted {
		return address{}, fault.New(fault.InvalidUri)
	}
	name := firstLabel(r.Host)
	if _, known := s.accounts.Lookup(name); !known || d.prefix != "" {
		name, path, _ = strings.Cut(path, "/")
	}
	account, known := s.accounts.Lookup(name)
	if !known {
		return address{}, fault.New(fault.ResourceNotFound).With("This server has no account of that name.")
	}
	a := address{secondary: name != account.Name}
	a.Account = account.Name
	return a.name(path, restype)
}

// name reads what is behind the account.
func (a address) name(path, restype string) (address, error) {
	container, blob, hasBlob := strings.Cut(path, "/")
	var bad error
	if a.Container, bad = url.PathUnescape(container); bad != nil {
		return a, fault.New(fault.InvalidUri)
	}
	if a.Blob, bad = url.PathUnescape(blob); bad != nil {
		return a, fault.New(fault.InvalidUri)
	}
	switch {
	case a.Container == "" && a.Blob == "":
		a.level = atService
		return a, nil
	case !hasBlob && restype == "" && a.Container != rootContainer:
		// A lone name is a blob of the root container, unless the request says
		// that it is about a container.
		a.Container, a.Blob = rootContainer, a.Container
	case a.Blob == "" && hasBlob && restype == "":
		return a, fault.New(fault.InvalidUri).With("The blob has no name.")
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
