// Package plainhttp serves HTTP/1 in the clear to handlers that answer at once.
//
// net/http starts a goroutine for every request to notice a client that leaves,
// moves a deadline nine times, and copies and sorts the answer's headers. For a
// handler that is done in a few microseconds this is most of the work. Server
// does without. Handlers are net/http's, and so is the reader of requests, except
// for simple ones without a body, which most are: see CommonHeaders.
//
// What is different from http.Server:
//
//   - The context of a request ends when reading from the client or writing to
//     it fails, and when the handler has done neither for StallTimeout, but not
//     as soon as a client leaves, nor with the request; and it has no values. A
//     handler that waits long must not be served here.
//   - A client that does not take 64 KiB of an answer in StallTimeout is given up
//     on. There is no other deadline for writing, nor can the handler set one.
//   - Requests and answers are used again: a handler must keep nothing of either.
//   - An answer names its Content-Length, or ends the connection, even if it is
//     empty. Its Content-Type is not guessed.
//   - What the handler has not read of a body when it begins the answer is gone.
//     Temporary files of a form are the handler's to remove.
//   - HTTP/1.0 connections are not kept.
//   - A head is complete before anybody looks at it: one without an end gets no
//     answer, however wrong it is. Its limit is exact.
//   - An unknown transfer encoding is a bad request rather than not implemented,
//     and a few oddities that http.Server forgives are refused: an empty line
//     after a POST, a folded Host, an Expect of more than 100-continue.
//   - There is no TLS, no HTTP/2, no upgrade, no hijacking, no trailer, and no
//     informational answer but 100 Continue.
//
// Everything else is meant to be the same, and is tested beside http.Server.
package plainhttp

import (
	"context"
	"errors"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Server serves connections. Most of its fields are http.Server's. Handler, the
// first two timeouts and MaxHeaderBytes must be set before Serve.
type Server struct {
	Handler           http.Handler
	ReadHeaderTimeout time.Duration // from the first byte to the end of the headers, and of a new connection to its first byte
	IdleTimeout       time.Duration // between two requests, or up to an eighth less
	MaxHeaderBytes    int           // of a request's first line and headers
	StallTimeout      time.Duration // after which the context of a request ends that neither reads nor writes, and a write fails; 0: never
	ErrorLog          *log.Logger   // hears of panics; nil: the standard logger
	CommonHeaders     []string      // that most requests have; requests with other headers take longer to read. Their values must not be kept: each keeps all others in memory

	closing atomic.Bool
	tick    atomic.Int64      // a clock that costs nothing to read
	known   map[string]string // see spellings

	mu        sync.Mutex
	listeners map[net.Listener]bool
	conns     map[*conn]bool
	clock     *time.Timer   // that moves tick; nil: none is needed yet
	empty     chan struct{} // closed once closing and without connections; nil: nobody asked
}

// Serve serves the connections that a listener accepts. It returns
// http.ErrServerClosed after Shutdown or Close, and the listener's error if it
// has one.
func (s *Server) Serve(l net.Listener) error {
	defer l.Close()
	if !s.open(l) {
		return http.ErrServerClosed
	}
	defer s.forget(l)
	for delay := time.Duration(0); ; {
		rw, err := l.Accept()
		switch {
		case err == nil:
			delay = 0
			if c := newConn(s, rw); s.admit(c) {
				go c.serve()
			} else {
				rw.Close()
			}
		case s.closing.Load():
			return http.ErrServerClosed
		case isTemporary(err):
			delay = min(max(2*delay, 5*time.Millisecond), time.Second)
			time.Sleep(delay)
		default:
			return err
		}
	}
}

// isTemporary: too many open files, mostly. net/http relies on it, too.
func isTemporary(err error) bool {
	var e interface{ Temporary() bool }
	return errors.As(err, &e) && e.Temporary()
}

// Shutdown shuts the listeners, closes connections without a request and waits
// for those that have one, until ctx ends.
func (s *Server) Shutdown(ctx context.Context) error {
	empty := s.close((*conn).closeIdle)
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close closes the listeners and all connections.
func (s *Server) Close() error {
	s.close((*conn).abort)
	return nil
}

// close begins the end: each connection is let go as end says.
func (s *Server) close(end func(*conn)) (empty <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing.Store(true)
	for l := range s.listeners {
		l.Close()
	}
	for c := range s.conns {
		end(c)
	}
	if s.empty == nil {
		s.empty = make(chan struct{})
		s.tellEmpty()
	}
	return s.empty
}

// tellEmpty closes empty if the last connection is gone. The lock is held.
func (s *Server) tellEmpty() {
	if s.empty != nil && len(s.conns) == 0 {
		select {
		case <-s.empty:
		default:
			close(s.empty)
		}
	}
}

func (s *Server) open(l net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listeners == nil {
		s.listeners, s.conns = map[net.Listener]bool{}, map[*conn]bool{}
		s.known = spellings(s.CommonHeaders)
	}
	s.listeners[l] = true
	if s.clock == nil && s.StallTimeout > 0 {
		s.clock = time.AfterFunc(s.StallTimeout/ticks, s.look)
	}
	return !s.closing.Load()
}

// ticks are how many make a StallTimeout, which may last one more.
const ticks = 4

// look gives up on requests that stand still: with a disk that does not answer,
// or clients that do not take their answers, they would fill the house. That one
// timer looks after all costs less than a deadline for each.
func (s *Server) look() {
	now := s.tick.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.giveUp(now - ticks)
	}
	if !s.closing.Load() || len(s.conns) > 0 {
		s.clock.Reset(s.StallTimeout / ticks)
	}
}

func (s *Server) forget(l net.Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.listeners, l)
}

func (s *Server) admit(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing.Load() {
		return false
	}
	s.conns[c] = true
	return true
}

func (s *Server) leave(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	s.tellEmpty()
}

func (s *Server) logf(format string, args ...any) {
	if s.ErrorLog != nil {
		s.ErrorLog.Printf(format, args...)
	} else {
		log.Printf(format, args...)
	}
}
