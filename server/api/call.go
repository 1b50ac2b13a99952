package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
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
	trace    Trace     // of an operation of a batch
}

// call is one operation under way.
type call struct {
	operation
	s         *Server
	w         http.ResponseWriter
	r         *http.Request
	rc        *http.ResponseController
	ctx       context.Context // of what is done for it; see Observer.Started
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
	batched bool
	answer  []byte

	// undelivered, if set, undoes what makes no sense without the answer.
	undelivered func()
}

// serve is where requests come in.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	c := &call{
		s: s, w: w, r: r, rc: http.NewResponseController(w), ctx: r.Context(),
		caller: auth.From(r.Context()), requestID: auth.RequestID(r), started: time.Now(),
	}
	var allow []string
	c.endpoint, c.pathValue, allow = s.router.Find(r.Method, r.URL.EscapedPath())
	c.setHeaders(allow)
	if s.o.Observer != nil {
		c.observeStart(TraceOf(r.Header))
	}
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

// finish catches a panic, observes and logs.
func (c *call) finish() {
	defer c.report() // even if the panic goes on
	if p := recover(); p != nil {
		c.panicked(p)
	}
}

func (c *call) report() {
	duration := time.Since(c.started)
	c.observeEnd(duration)
	if c.s.o.Logger.Enabled(c.ctx, slog.LevelDebug) {
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
