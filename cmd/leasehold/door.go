package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	stdlog "log"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/leasehold/leasehold/internal/plainhttp"
	"github.com/leasehold/leasehold/server/api"
	"github.com/leasehold/leasehold/server/auth"
	"github.com/leasehold/leasehold/server/blob"
)

// The limits of every door. There is no limit on the time of a whole request:
// waiting is what clients come for. The doors limit bodies and answers.
const (
	headerTimeout = 5 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 32 << 10 // bytes
	stallTimeout  = time.Minute
)

// door is one way into the store.
type door struct {
	name, key string // for people, and for JSON
	url       string
	note      string // what else to tell about it
	listener  net.Listener
	server    server
	drain     func() // lets go of whoever would hold up a shutdown; may be nil
}

// server is what stands behind a door: http.Server, or one that is quicker and
// can do less.
type server interface {
	Serve(net.Listener) error
	Shutdown(context.Context) error
	Close() error
}

// serve returns nil once the door is shut.
func (d *door) serve() error {
	err := d.server.Serve(d.listener)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// tlsServer is a server whose connections are encrypted.
type tlsServer struct{ *http.Server }

func (s tlsServer) Serve(l net.Listener) error { return s.ServeTLS(l, "", "") }

// newServer serves a handler in the clear, or with TLS if there is a config.
func newServer(handler http.Handler, config *tls.Config, log *slog.Logger) server {
	s := newHTTPServer(log)
	s.Handler, s.TLSConfig = handler, config
	if config != nil {
		return tlsServer{s}
	}
	return s
}

// newQuickServer is newServer for handlers that never wait for anything but the
// disk.
func newQuickServer(handler http.Handler, config *tls.Config, log *slog.Logger) server {
	if config != nil {
		return newServer(handler, config, log)
	}
	return &plainhttp.Server{
		Handler: handler, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		StallTimeout: stallTimeout, CommonHeaders: blob.CommonHeaders,
		ErrorLog: stdlog.New(&httpLog{log}, "", 0),
	}
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
		MaxWaiters: f.waiters, MaxWaitersPerCaller: f.waitersPerCaller(),
	})
	handler := json.Handler()
	if h.rooms.blobs != nil {
		handler = withBlobs(handler, h.rooms.blobs.Dialect())
	}
	h.doors = append(h.doors, &door{
		name: "JSON API", key: "json_api", url: url,
		listener: limitConnections(l, f.connections), server: newServer(p.guard.Wrap(handler), p.tls, h.log), drain: json.Drain,
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

func newHTTPServer(log *slog.Logger) *http.Server {
	return &http.Server{
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          stdlog.New(&httpLog{log}, "", 0),
	}
}

// httpLog takes what net/http has to say. Most of it is about strangers: broken
// handshakes, half requests. A panic is about us.
type httpLog struct{ log *slog.Logger }

func (l *httpLog) Write(line []byte) (int, error) {
	level := slog.LevelDebug
	if bytes.Contains(line, []byte("panic")) {
		level = slog.LevelError
	}
	l.log.Log(context.Background(), level, string(bytes.TrimSpace(line)))
	return len(line), nil
}

// doorURL is where a listener is reached.
func doorURL(l net.Listener, secure bool) string {
	if secure {
		return "https://" + l.Addr().String()
	}
	return "http://" + l.Addr().String()
}
