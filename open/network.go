package open

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
)

// callTimeout is how long a server may be silent: less than five seconds, in which a
// user is to see what is wrong.
const callTimeout = 4 * time.Second

// place is where a networked store is: //USER:PASSWORD@HOST,HOST/PATH/PATH.
type place struct {
	user, password string
	hosts          []string // HOST or HOST:PORT, never empty strings
	path           []string // decoded, no empty segments
}

// place takes the URL apart. Its errors repeat nothing: a password with a stray
// slash can stand anywhere.
func (u storeURL) place() (p place, err error) {
	rest, ok := strings.CutPrefix(u.rest, "//")
	if !ok {
		return p, invalid("has no // after the scheme; want %s", u.syntax)
	}
	authority, path, _ := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		user, password, given := strings.Cut(authority[:at], ":")
		if given && password == "" {
			return p, invalid("has an empty password; leave out its colon if there is none")
		}
		authority = authority[at+1:]
		if p.user, err = url.PathUnescape(user); err == nil {
			p.password, err = url.PathUnescape(password)
		}
		if err != nil {
			return p, invalid("has a broken %%XX in the user or password; write %%25 for a percent sign")
		}
	}
	if strings.ContainsRune(path, '@') {
		return p, invalid("has a slash in the user or password, or an @ in the path; write %%2F and %%40")
	}
	for host := range strings.SplitSeq(authority, ",") {
		if host != "" {
			p.hosts = append(p.hosts, host)
		}
	}
	for segment := range strings.SplitSeq(path, "/") {
		if segment, err = url.PathUnescape(segment); err != nil {
			return p, invalid("has a broken %%XX in the path; write %%25 for a percent sign")
		}
		if segment != "" {
			p.path = append(p.path, segment)
		}
	}
	return p, nil
}

// service returns the one host of an Azure service and its URL. A bare name is an
// account, which has a host of its own under domain.
func (u storeURL) service(p place, domain string) (host, base string, err error) {
	switch {
	case p.user != "" || p.password != "":
		return "", "", invalid("carries a user or password; give the key as Options.Secret or by key-file")
	case len(p.hosts) == 0:
		return "", "", invalid("names no host, and there is no connection string; want %s", u.syntax)
	case len(p.hosts) != 1:
		return "", "", invalid("names %d hosts; want one", len(p.hosts))
	}
	host = p.hosts[0]
	if !strings.ContainsAny(host, ".:") && host != "localhost" {
		host += domain
	}
	scheme := "https://"
	if plain, err := u.flag("tls", true); err != nil {
		return "", "", err
	} else if !plain {
		scheme = "http://"
	}
	if _, err := withPort(host, ""); err != nil {
		return "", "", err
	}
	return host, scheme + host, nil
}

// account is the first label of a host such as NAME.blob.core.windows.net, "" of an
// address and of localhost.
func account(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	name, _, ok := strings.Cut(host, ".")
	if !ok || net.ParseIP(host) != nil {
		return ""
	}
	return name
}

// withPort adds a port to a host that has none.
func withPort(host, port string) (string, error) {
	parsed, err := url.Parse("//" + host)
	if err != nil || parsed.Host != host || parsed.Hostname() == "" || strings.Contains(parsed.Hostname(), ":") != strings.HasPrefix(host, "[") {
		return "", invalid("names a host that cannot be read; want HOST:PORT")
	}
	if parsed.Port() != "" {
		port = parsed.Port()
	}
	return net.JoinHostPort(parsed.Hostname(), port), nil
}

// addrs returns the hosts, with a port for those that have none.
func (u storeURL) addrs(p place, port string) ([]string, error) {
	if len(p.hosts) == 0 {
		return nil, invalid("names no host; want %s", u.syntax)
	}
	addrs := make([]string, 0, len(p.hosts))
	for _, host := range p.hosts {
		addr, err := withPort(host, port)
		if err != nil {
			return nil, err
		}
		addrs = append(addrs, addr)
	}
	return addrs, nil
}

// shown is a parameter for an error. It is not repeated where it may be part of a
// password with a stray question mark.
func (u storeURL) shown(name string) string {
	if strings.Contains(u.query, "@") {
		return "that is none"
	}
	return fmt.Sprintf("%.32q", u.params.Get(name))
}

// flag is a parameter that is true or false.
func (u storeURL) flag(name string, otherwise bool) (bool, error) {
	if !u.params.Has(name) {
		return otherwise, nil
	}
	switch u.params.Get(name) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, invalid("has the %s %s; want true or false", name, u.shown(name))
}

// number is a parameter that is a number of at least one.
func (u storeURL) number(name string) (int, error) {
	if !u.params.Has(name) {
		return 0, nil
	}
	n, err := strconv.Atoi(u.params.Get(name))
	if err != nil || n < 1 {
		return 0, invalid("has the %s %s; want a number from 1", name, u.shown(name))
	}
	return n, nil
}

// httpClient is for one store, whose Close closes its idle connections. A host that
// does not answer is an error in seconds.
func (u storeURL) httpClient(o Options) (*http.Client, error) {
	config, err := u.tls(o.TLS)
	if err != nil {
		return nil, err
	}
	return &http.Client{Timeout: callTimeout, Transport: &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 3 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSClientConfig:     config,
		TLSHandshakeTimeout: 3 * time.Second,
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: 64,
		IdleConnTimeout:     90 * time.Second,
	}}, nil
}

// named puts the store's name into the text of its error: a user may have several.
func named(err error) error {
	var e *leasehold.Error
	if !errors.As(err, &e) || e.Store == "" || e.Cause == nil || strings.Contains(err.Error(), e.Store) {
		return err
	}
	named := *e
	named.Cause = fmt.Errorf("%s: %w", e.Store, e.Cause)
	return &named
}
