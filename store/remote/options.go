package remote

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
)

const (
	defaultTimeout   = 15 * time.Second
	defaultIdleConns = 256
	defaultUserAgent = "leasehold-go"
)

// Options are the client's. Nil is fine.
type Options struct {
	// Token is shown to the server as the bearer token. Default none. It never
	// appears in errors, and Options do not print it.
	Token string

	// TLS is for https. Default: the system's certificate authorities.
	TLS *tls.Config

	// Timeout ends every call that has no answer by then, whatever its context
	// says, except waits, watches and backups: of those it limits only the making
	// of the connection. Default 15 s; less than 0: never.
	Timeout time.Duration

	// IdleConns is how many unused connections are kept open. Default 256.
	IdleConns int

	// UserAgent is how the client names itself. Default "leasehold-go".
	UserAgent string

	// Dial makes a connection, through a Unix socket, say. Default: net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// HTTPClient carries the requests instead of connections of our own, for
	// whoever needs its proxies or its HTTP/2. Its Timeout does not count, and
	// TLS, IdleConns and Dial are its own. Default none. The trap: a grant that
	// is on its way while its caller leaves is then held until it expires,
	// unless a lease id was proposed. The Manager proposes one.
	HTTPClient *http.Client
}

// String says that there are options and nothing of their secrets.
func (o Options) String() string { return "[remote options]" }

// GoString says no more.
func (o Options) GoString() string { return o.String() }

func (o *Options) withDefaults() (Options, error) {
	var d Options
	if o != nil {
		d = *o
	}
	if d.Timeout == 0 {
		d.Timeout = defaultTimeout
	}
	if d.IdleConns == 0 {
		d.IdleConns = defaultIdleConns
	}
	if d.UserAgent == "" {
		d.UserAgent = defaultUserAgent
	}
	if d.Dial == nil {
		d.Dial = new(net.Dialer).DialContext
	}
	if strings.ContainsFunc(d.Token, notHeader) || strings.Contains(d.Token, " ") {
		return d, invalid("token", "has characters that no token has; want printable ASCII without spaces")
	}
	if strings.ContainsFunc(d.UserAgent, notHeader) {
		return d, invalid("user_agent", "has characters that no header has; want printable ASCII")
	}
	return d, nil
}

func notHeader(r rune) bool { return r < ' ' || r > '~' }

// address is where the server is.
type address struct {
	secure bool
	host   string // as in the Host header
	dial   string // host and port
	name   string // for the certificate
	prefix string // of every path, without a slash at its end
}

// parseURL does not repeat the URL in its errors: people put passwords there.
func parseURL(raw string) (address, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return address{}, invalid("url", "cannot be read; want http://host:port or https://host:port")
	case u.Scheme != "http" && u.Scheme != "https":
		return address{}, invalid("url", fmt.Sprintf("has the scheme %q; want http or https", u.Scheme))
	case u.Hostname() == "":
		return address{}, invalid("url", "names no host; want http://host:port or https://host:port")
	case u.User != nil:
		return address{}, invalid("url", "carries a user or password; give a token instead")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return address{}, invalid("url", "has a query or fragment; want http://host:port, with a path if the server has one")
	}
	a := address{secure: u.Scheme == "https", host: u.Host, name: u.Hostname()}
	a.prefix = strings.TrimRight(u.EscapedPath(), "/")
	port := u.Port()
	switch {
	case port != "":
	case a.secure:
		port = "443"
	default:
		port = "80"
	}
	a.dial = net.JoinHostPort(a.name, port)
	return a, nil
}

func (a address) String() string {
	if a.secure {
		return "https://" + a.host + a.prefix
	}
	return "http://" + a.host + a.prefix
}

func invalid(field, problem string) error {
	return &leasehold.Error{Reason: leasehold.ReasonInvalid, Store: kind, Field: field, Problem: problem}
}
