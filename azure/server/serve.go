package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/azure/azerr"
)

// newestVersion is the version that is answered to clients that send none. Any
// version is served: what they have in common is all there is.
const newestVersion = "2026-06-06"

// handler serves one of the two APIs.
type handler struct {
	*Server
	api *api
}

// ServeHTTP is where every request comes in.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	sw, r := watchStalls(w, r, h.stallTimeout)
	defer sw.stop()
	c := &call{w: sw, r: r, api: h.api, id: newRequestID(), started: time.Now()}
	defer h.finish(c)
	h.setHeaders(c)
	if err := h.serve(c); err != nil {
		h.answerError(c, err)
	}
}

// serve finds out which operation is meant and runs it.
func (s *Server) serve(c *call) error {
	unreadable, unknown := s.identify(c)
	s.start(c)
	switch {
	case unreadable != nil:
		return unreadable
	case c.op == preflight:
		return s.answerPreflight(c)
	}
	if err := s.setCORS(c); err != nil {
		return err
	}
	if unknown != nil {
		return unknown
	}
	return s.run(c)
}

// identify reads the address and finds the operation. Why that is impossible is
// returned apart, since a browser's page may see only the latter.
func (s *Server) identify(c *call) (unreadable, unknown error) {
	if s.closed != "" && !c.api.authenticated {
		return azerr.New(azerr.AuthorizationFailure).With("%s", s.closed), nil
	}
	if err := s.parseAddress(c); err != nil {
		return err, nil
	}
	if c.r.Method == http.MethodOptions {
		c.op = preflight
		return nil, nil
	}
	return nil, s.findOperation(c)
}

// run authorizes the caller, reads lease id and conditions, and lets the handler
// of the operation answer. It is also the way of each part of a batch.
func (s *Server) run(c *call) error {
	if err := s.authorize(c); err != nil {
		return err
	}
	if err := c.checkSupported(); err != nil {
		return err
	}
	if err := c.readAccess(); err != nil {
		return err
	}
	return c.op.Handle(s, c)
}

// setHeaders gives the answer what every answer has, beside the date, which
// net/http adds.
func (s *Server) setHeaders(c *call) {
	c.header()["Server"] = s.name
	if c.api.authenticated {
		c.setSandbox()
	}
	c.set("X-Ms-Request-Id", c.id)
	c.set("X-Ms-Version", version(c.r))
	if id := first(c.r.Header, "X-Ms-Client-Request-Id"); id != "" && len(id) <= 1024 && printable(id) {
		c.set("X-Ms-Client-Request-Id", id)
	}
}

// setSandbox keeps uploaded content from being a page of the API's origin, or of
// anybody's frame.
func (c *call) setSandbox() {
	h := c.header()
	h["Content-Security-Policy"] = sandboxed
	h["X-Content-Type-Options"] = noSniffing
	h["X-Frame-Options"] = noFrames
	h["Cross-Origin-Resource-Policy"] = ownOrigin
}

// version returns the version of the protocol that the client speaks.
func version(r *http.Request) string {
	if v := first(r.Header, "X-Ms-Version"); v != "" && len(v) <= 32 && printable(v) {
		return v
	}
	return newestVersion
}

func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// finish catches a panic and reports the request, also one whose answer is given
// up half-way.
func (s *Server) finish(c *call) {
	defer s.report(c)
	if p := recover(); p != nil {
		s.answerPanic(c, p)
	}
}

var errPanicked = errors.New("a panic, logged above")

func (s *Server) answerPanic(c *call, p any) {
	if p == http.ErrAbortHandler && c.batch == nil {
		panic(p)
	}
	s.log.LogAttrs(c.r.Context(), slog.LevelError, "panic", c.attrs(
		slog.String("panic", fmt.Sprint(p)), slog.String("stack", string(debug.Stack())))...)
	s.answerError(c, errPanicked)
}

// attrs says which request a log line is about.
func (c *call) attrs(more ...slog.Attr) []slog.Attr {
	name := noOperation
	if c.op != nil {
		name = c.op.Name
	}
	return append([]slog.Attr{
		slog.String("request_id", c.id), slog.String("operation", name), slog.String("method", c.r.Method),
		slog.String("account", c.ref.Account), slog.String("container", c.ref.Container),
		slog.String("remote", c.r.RemoteAddr),
	}, more...)
}

// newRequestID returns a random GUID. It names a request, never a lease, and so
// may be shown.
func newRequestID() string { return leasehold.NewID().Reveal() }
