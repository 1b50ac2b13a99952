// Package serve is what leasehold serve starts: listeners with TLS and timeouts,
// the check of callers before the handlers, the store, and the JSON and Azure
// Blob APIs on it.
//
//   - server.go: Start, Wait and Close.
//   - options.go: what leasehold serve has flags for, and what is refused.
//   - listener.go, http.go: sockets, middleware, HTTP servers and their timeouts.
//   - accounts.go: the storage accounts that may sign for blobs.
//   - backend.go: the store, and the Azure API's catalog and content on its engine.
//   - observe.go: the hooks of all of them.
//   - memory.go: the data directory of a server that keeps nothing.
package serve

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"
)

// shutdownTimeout is how long requests under way have to end when a server closes.
const shutdownTimeout = 10 * time.Second

// Server is a running server. Make it with Start and end it with Close.
type Server struct {
	log       *slog.Logger
	listeners []*listener
	failed    chan error // what ended a listener; nil for a shutdown
	closers   closers
}

// API is an API of a server, and where it answers.
type API struct {
	Name             string // for people
	Key              string // for programs
	URL              string
	ConnectionString string // for Azure's SDKs; may be empty
}

// closers undo what was opened, the last one first.
type closers []func() error

func (c *closers) add(close func() error) { *c = append(*c, close) }

func (c *closers) close() error {
	var err error
	for i := len(*c) - 1; i >= 0; i-- {
		err = errors.Join(err, (*c)[i]())
	}
	return err
}

// Start serves until Close. The context is for the start alone.
func Start(ctx context.Context, o Options) (_ *Server, err error) {
	o.complete()
	if err := o.validate(); err != nil {
		return nil, err
	}
	s := &Server{log: o.Logger}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.closers.close())
		}
	}()
	// Listening comes first: a process that finds the database in use is told
	// the address, which with port 0 is not known before.
	jsonSocket, err := s.listen(ctx, o.Listen, "--listen")
	if err != nil {
		return nil, err
	}
	var blobSocket net.Listener
	if o.servesBlobs() {
		if blobSocket, err = s.listen(ctx, o.BlobListen, "--blob-listen"); err != nil {
			return nil, err
		}
	}
	w, err := newObservers(o.Observe)
	if err != nil {
		return nil, err
	}
	// The store comes last: a server that cannot start must not leave a directory.
	m, err := newMiddleware(&o, &w)
	if err != nil {
		return nil, err
	}
	s.closers.add(func() error { m.guard.Close(); return nil })
	b, err := openBackend(ctx, o, &w, urlOf(jsonSocket, o.secure()), &s.closers)
	if err != nil {
		return nil, err
	}
	s.closers.add(w.close) // before the store
	if err := w.watchBackend(b); err != nil {
		return nil, err
	}
	if err := s.addJSON(&o, m, b, &w, jsonSocket); err != nil {
		return nil, err
	}
	if b.azure != nil {
		s.addBlobs(&o, m, b, blobSocket)
	}
	s.log.Info("serving", "url", s.listeners[0].api.URL, "version", o.Version, "pid", os.Getpid(),
		"tokens", o.TokenFile != "", "tls", o.secure())
	s.failed = make(chan error, len(s.listeners))
	for _, l := range s.listeners {
		go func() { s.failed <- l.serve() }()
	}
	return s, nil
}

// APIs returns the server's APIs, the JSON API first. They answer already.
func (s *Server) APIs() []API {
	var all []API
	for _, l := range s.listeners {
		all = append(all, l.api)
	}
	return all
}

// Wait closes the server when ctx ends or a listener fails, and returns the
// failure.
func (s *Server) Wait(ctx context.Context) error {
	select {
	case err := <-s.failed:
		return errors.Join(err, s.Close())
	case <-ctx.Done():
		s.log.Info("shutting down", "cause", context.Cause(ctx))
		return s.Close()
	}
}

// Close answers waiters, waits for requests under way, cuts off those that do not
// end, and closes the store. All that was answered is durable already, so an
// error here loses nothing.
func (s *Server) Close() error {
	s.shutDown()
	return s.closers.close()
}

func (s *Server) shutDown() {
	for _, l := range s.listeners {
		if l.drain != nil {
			l.drain()
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	var all sync.WaitGroup
	for _, l := range s.listeners { // at once: none accepts connections while another waits
		all.Go(func() {
			if err := l.http.Shutdown(ctx); err != nil {
				s.log.Warn("cutting off requests that did not end", "api", l.api.Name, "error", err)
				_ = l.http.Close()
			}
		})
	}
	all.Wait()
}
