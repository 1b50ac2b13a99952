package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"strings"
	"syscall"

	"github.com/leasehold/leasehold/health"
	"github.com/leasehold/leasehold/server/api"
	"github.com/leasehold/leasehold/server/auth"
	"github.com/leasehold/leasehold/server/console"
	"github.com/leasehold/leasehold/server/mcp"
	"golang.org/x/net/netutil"
)

// listener serves one API.
type listener struct {
	api    API
	socket net.Listener
	http   *http.Server // with TLS if it has a TLSConfig
	drain  func()       // answers the requests that wait; may be nil
}

// serve returns nil once the listener is shut down.
func (l *listener) serve() error {
	var err error
	if l.http.TLSConfig != nil {
		err = l.http.ServeTLS(l.socket, "", "")
	} else {
		err = l.http.Serve(l.socket)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// listen says what to do about an address that cannot be had.
func (s *Server) listen(ctx context.Context, address, flag string) (net.Listener, error) {
	socket, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	switch {
	case err == nil:
		s.closers.add(func() error { _ = socket.Close(); return nil }) // a shutdown has closed it already
		return socket, nil
	case errors.Is(err, syscall.EADDRINUSE):
		err = fmt.Errorf("%w; perhaps a server runs there already (leasehold health tells); %s chooses another address, and port 0 a free one", err, flag)
	}
	return nil, &startError{ErrListen, err.Error()}
}

func urlOf(socket net.Listener, secure bool) string {
	if secure {
		return "https://" + socket.Addr().String()
	}
	return "http://" + socket.Addr().String()
}

// middleware is what a request passes before it reaches an API.
type middleware struct {
	guard *auth.Guard
	tls   *tls.Config // nil: in the clear
}

// newMiddleware reads the tokens and certificates.
func newMiddleware(o *Options, w *observers) (m middleware, err error) {
	if o.secure() {
		o.TLS.Logger = o.Logger
		if m.tls, err = auth.TLSConfig(o.TLS); err != nil {
			return m, invalid("%v", err)
		}
	}
	m.guard, err = auth.New(&auth.Options{
		TokenFile: o.TokenFile, GroupMayRead: o.TokenFileGroup, Rate: o.Rate, Hosts: o.allHosts(), Logger: o.Logger,
		Refused: w.refused(),
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return m, fmt.Errorf("%w; leasehold token new makes it", err)
	case err != nil:
		return m, invalid("%v", err)
	}
	return m, nil
}

// addJSON adds the JSON API. Beside it, under auth.BlobPath, callers with tokens
// reach the blobs.
func (s *Server) addJSON(o *Options, m middleware, b *backend, w *observers, socket net.Listener) error {
	json := api.New(b.store, &api.Options{
		Logger: s.log, Version: o.Version,
		BodyTimeout: o.Timeouts.Exchange, WriteTimeout: o.Timeouts.Exchange,
		MaxWaiters: o.MaxWaiters, MaxWaitersPerCaller: o.waitersPerCaller(),
		Observer: w.api, Metrics: w.page(), LogLevel: o.LogLevel,
		Health: health.Options{Name: o.Health.Name, TTL: o.Health.TTL, Timeout: o.Health.Timeout, Store: b.provider},
	})
	if err := w.watchAPI(json); err != nil {
		return err
	}
	tools := mcp.New(b.store, &mcp.Options{Logger: s.log, Version: o.Version, MaxWaiters: o.MaxWaiters, MaxWaitersPerCaller: o.waitersPerCaller()})
	handler := mcp.WithHandler(json.Handler(), tools.Handler())
	if b.azure != nil {
		handler = withBlobs(handler, b.azure.PlainHandler())
	}
	pages := console.New(b.store, console.Options{
		Guard: m.guard, Logger: s.log, Version: o.Version, Streams: json.StreamLimit(), WriteTimeout: o.Timeouts.Exchange,
		Health: health.Options{TTL: o.Health.TTL, Timeout: o.Health.Timeout, Store: b.provider},
	})
	s.closers.add(pages.Close)
	drain := func() { json.Drain(); tools.Drain(); pages.Drain() }
	s.listeners = append(s.listeners, &listener{
		api:    API{Name: "JSON API", Key: "json_api", URL: urlOf(socket, o.secure())},
		socket: netutil.LimitListener(socket, o.MaxConnections), drain: drain,
		http: newHTTPServer(withConsole(m.guard.Wrap(handler), pages.Handler()), m.tls, o.Timeouts, s.log),
	})
	return nil
}

// addBlobs adds the Azure Blob API, which checks signatures instead of tokens.
func (s *Server) addBlobs(o *Options, m middleware, b *backend, socket net.Listener) {
	l := &listener{
		api:    API{Name: "Blob API", Key: "azure_blob", URL: urlOf(socket, o.secure())},
		socket: netutil.LimitListener(socket, o.MaxConnections),
		http:   newHTTPServer(b.azure.Handler(), m.tls.Clone(), o.Timeouts, s.log),
	}
	if why := o.blobClosed(); why != "" {
		s.log.Warn("the Blob API serves no account", "why", why)
	} else {
		l.api.ConnectionString = connectionString(b.accounts[0], l.api.URL)
	}
	s.listeners = append(s.listeners, l)
}

// withBlobs passes the paths of the plain blob API to plain, and all others to next.
func withBlobs(next, plain http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.EscapedPath(), auth.BlobPath) {
			plain.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// withConsole passes the paths of the console to pages, and all others to next.
func withConsole(next, pages http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if console.Serves(r.URL.EscapedPath()) {
			pages.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}
