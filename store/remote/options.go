package remote

import (
	"context"
	"crypto/tls"
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

// Options configure the client. Nil is fine.
type Options struct {
	// Token is shown to the server as the bearer token. Default none. It never
	// appears in errors, and Options do not print it.
	Token string

	// TLS is for https. Default: the system's certificate authorities.
	TLS *tls.Config

	// Timeout ends every call without an answer, whatever its context says. Of
	// waits, watches and backups it limits only connecting. Default 15 s; less
	// than 0: none. A call that changes something and whose caller has left goes
	// on until then.
	Timeout time.Duration

	// IdleConns is how many unused connections are kept open. Default 256.
	IdleConns int

	// UserAgent is the client's name. Default "leasehold-go".
	UserAgent string

	// Trace returns the W3C trace context of a call's context: the headers
	// traceparent and tracestate, empty if there is none. telemetry.TraceContext
	// does. Default: none is sent.
	Trace func(ctx context.Context) (traceparent, tracestate string)

	// Dial makes a connection, through a Unix socket, say. Default: net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// HTTPClient sends the requests, through proxies or over HTTP/2, say. Its
	// Timeout is not used; TLS, IdleConns and Dial above have no effect. Default:
	// connections of the store's own. Close does not close it.
	HTTPClient *http.Client
}

// String shows no option: Token is a secret.
func (o Options) String() string { return "[remote options]" }

// GoString is String.
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
		return d, leasehold.Invalid("token", "has characters that no token has; want printable ASCII without spaces")
	}
	if strings.ContainsFunc(d.UserAgent, notHeader) {
		return d, leasehold.Invalid("user_agent", "has characters that no header has; want printable ASCII")
	}
	return d, nil
}

func notHeader(r rune) bool { return r < ' ' || r > '~' }

// address is where the server is: scheme, host and path, without a slash at its
// end.
type address string

// parseURL does not repeat the URL in its errors: people put passwords there.
func parseURL(raw string) (address, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return "", leasehold.Invalid("url", "cannot be read; want http://host:port or https://host:port")
	case u.Scheme != "http" && u.Scheme != "https":
		return "", leasehold.Invalid("url", "has the scheme %q; want http or https", u.Scheme)
	case u.Hostname() == "":
		return "", leasehold.Invalid("url", "names no host; want http://host:port or https://host:port")
	case u.User != nil:
		return "", leasehold.Invalid("url", "carries a user or password; give a token instead")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "", leasehold.Invalid("url", "has a query or fragment; want http://host:port, with a path if the server has one")
	}
	return address(u.Scheme + "://" + u.Host + strings.TrimRight(u.EscapedPath(), "/")), nil
}
