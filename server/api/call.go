package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/server/auth"
	"github.com/leasehold/leasehold/server/internal/rest"
)

// operation is what is to be done: by a request of its own, or as one of a batch.
type operation struct {
	endpoint *endpoint // nil: no such path or method
	body     []byte    // a JSON object, once it has been read
}

// call is one operation under way.
type call struct {
	operation
	s         *Server
	w         http.ResponseWriter
	r         *http.Request
	rc        *http.ResponseController
	caller    auth.Caller
	requestID string
	pathValue string // the open part of the path, unescaped
	started   time.Time

	status   int              // of the answer
	code     leasehold.Reason // of the problem, if it is one
	bodyRead bool             // the whole body, or as much of it as ever will be
	wrote    bool             // at least the head of the answer
	waited   bool             // in a queue, so the duration says nothing about the server

	// batched: it is an operation of a batch, which has one answer for all. Its
	// own is put into answer instead, and w and rc are nil.
	batched  bool
	answer   []byte
	batchCtx context.Context // has the time limit that the operations share

	// undelivered, if set, undoes what makes no sense without the answer.
	undelivered func()
}

// serve is where requests come in.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	c := &call{
		s: s, w: w, r: r, rc: http.NewResponseController(w),
		caller: auth.From(r.Context()), requestID: auth.RequestID(r), started: time.Now(),
	}
	var allow []string
	c.endpoint, c.pathValue, allow = s.router.Find(r.Method, r.URL.EscapedPath())
	c.setHeaders(allow)
	defer c.finish()
	if r.ContentLength != 0 {
		_ = c.rc.SetReadDeadline(c.started.Add(s.o.BodyTimeout))
	}
	c.clearWriteDeadline()
	switch {
	case c.endpoint != nil:
		c.respond(c.run())
	case len(allow) > 0:
		c.writeProblem(&leasehold.Error{Reason: codeMethod})
	default:
		c.writeProblem(&leasehold.Error{Reason: codePath})
	}
}

func (c *call) setHeaders(allow []string) {
	h := c.w.Header()
	h.Set("X-Request-Id", c.requestID)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	h.Set("Cache-Control", "no-store")
	if len(allow) > 0 {
		h.Set("Allow", strings.Join(allow, ", "))
	}
}

// run authorizes the caller, reads the body, unless a batch has done so, and
// calls the handler.
func (c *call) run() (any, error) {
	e := c.endpoint
	if !e.Allows(c.caller) {
		return nil, c.forbidden("")
	}
	c.status = e.Status
	if e.BodyType != nil && !c.batched {
		if err := rest.CheckNoQuery(c.r.URL.RawQuery); err != nil {
			return nil, err
		}
		var err error
		if c.body, err = readBody(c); err != nil {
			return nil, err
		}
	}
	return e.Handle(c, c.r.URL.RawQuery, c.body)
}

// finish catches a panic, counts and logs.
func (c *call) finish() {
	if p := recover(); p != nil {
		c.panicked(p)
	}
	duration := time.Since(c.started)
	c.s.metrics.observe(c, duration)
	if c.s.o.Logger.Enabled(c.r.Context(), slog.LevelDebug) {
		c.log(slog.LevelDebug, "request",
			slog.Int("status", c.status), slog.String("code", string(c.code)), slog.Duration("took", duration))
	}
}

func (c *call) panicked(p any) {
	if p == http.ErrAbortHandler && !c.batched { // nothing catches it in an operation's goroutine
		panic(p)
	}
	c.log(slog.LevelError, "panic", slog.String("panic", fmt.Sprint(p)), slog.String("stack", string(debug.Stack())))
	if c.wrote && !c.batched {
		panic(http.ErrAbortHandler) // half an answer must not look like a whole one
	}
	c.writeProblem(errPanicked)
}

var errPanicked = errors.New("a panic, logged above")

// log writes a line about the request. It has nothing of the path or the body,
// which may hold a lease id.
func (c *call) log(level slog.Level, message string, attrs ...slog.Attr) {
	c.s.o.Logger.LogAttrs(c.r.Context(), level, message, append([]slog.Attr{
		slog.String("request_id", c.requestID), slog.String("route", c.route()),
		slog.String("caller", c.caller.Name), slog.String("remote", c.r.RemoteAddr),
	}, attrs...)...)
}

func (c *call) route() string {
	if c.endpoint == nil {
		return "none"
	}
	return c.endpoint.Label()
}

func (c *call) logFailure(err error) {
	if err == nil {
		return
	}
	level := slog.LevelError
	if c.r.Context().Err() != nil || errors.Is(err, errDraining) || errors.Is(err, os.ErrDeadlineExceeded) {
		level = slog.LevelDebug // the client left, was asked to, or did not read
	}
	c.log(level, "request failed", slog.String("error", err.Error()))
}
