package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"

	"github.com/leasehold/leasehold/server/api"
	"github.com/leasehold/leasehold/server/auth"
	"golang.org/x/net/netutil"
)

// door is one way into the store.
type door struct {
	name, key string // for people, and for JSON
	url       string
	note      string // what else to tell about it
	listener  net.Listener
	server    *http.Server // with TLS if it has a TLSConfig
	drain     func()       // lets go of whoever would hold up a shutdown; may be nil
}

// serve returns nil once the door is shut.
func (d *door) serve() error {
	var err error
	if d.server.TLSConfig != nil {
		err = d.server.ServeTLS(d.listener, "", "")
	} else {
		err = d.server.Serve(d.listener)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// porch is what callers pass before they come to a door.
type porch struct {
	guard *auth.Guard
	tls   *tls.Config // nil: in the clear
}

// newPorch reads the tokens and certificates.
func newPorch(f serveFlags, log *slog.Logger) (p porch, err error) {
	if f.secure() {
		f.tls.Logger = log
		if p.tls, err = auth.TLSConfig(f.tls); err != nil {
			return p, asUsage(err)
		}
	}
	p.guard, err = auth.New(&auth.Options{
		TokenFile: f.tokenFile, GroupMayRead: f.groupMayRead, Rate: f.rate, Hosts: f.allHosts(), Logger: log,
	})
	if errors.Is(err, fs.ErrNotExist) {
		return p, fmt.Errorf("%w; leasehold token new makes it", err)
	}
	return p, asUsage(err)
}

// addJSON builds the JSON door.
func (h *house) addJSON(f serveFlags, p porch, l net.Listener, url string) {
	json := api.New(h.rooms.store, &api.Options{
		Logger: h.log, Version: readBuildInfo().Version,
		BodyTimeout: f.timeouts.exchange, WriteTimeout: f.timeouts.exchange,
		MaxWaiters: f.waiters, MaxWaitersPerCaller: f.waitersPerCaller(),
	})
	handler := json.Handler()
	if h.rooms.blobs != nil {
		handler = withBlobs(handler, h.rooms.blobs.PlainHandler())
	}
	h.doors = append(h.doors, &door{
		name: "JSON API", key: "json_api", url: url,
		listener: netutil.LimitListener(l, f.connections), drain: json.Drain,
		server: newServer(p.guard.Wrap(handler), p.tls, f.timeouts, h.log),
	})
}

// waitersPerCaller keeps one token from filling all queues. On an open listener
// everybody is the same caller, so there is nobody to be fair to.
func (f serveFlags) waitersPerCaller() int {
	if f.tokenFile == "" {
		return f.waiters
	}
	return max(1, f.waiters/10)
}

// allHosts adds the host that is listened on: who spelt out --insecure with an
// address wants to be reached by it.
func (f serveFlags) allHosts() []string {
	host, _, err := net.SplitHostPort(f.listen)
	if !f.insecure || err != nil || host == "" {
		return f.hosts
	}
	if ip := net.ParseIP(host); ip != nil && ip.To4() == nil {
		host = "[" + host + "]"
	}
	return append([]string{host}, f.hosts...)
}

// doorURL is where a listener is reached.
func doorURL(l net.Listener, secure bool) string {
	if secure {
		return "https://" + l.Addr().String()
	}
	return "http://" + l.Addr().String()
}
