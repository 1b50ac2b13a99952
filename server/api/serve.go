package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/server/auth"
)

// call is one request under way.
type call struct {
	s        *Server
	w        http.ResponseWriter
	r        *http.Request
	rc       *http.ResponseController
	endpoint *endpoint // nil: no such path or method
	caller   auth.Caller
	id       string // the request's
	rest     string // the open part of the path, unescaped
	began    time.Time

	status int              // of the answer
	code   leasehold.Reason // of the problem, if it was one
	read   bool             // the body, or as much of it as ever will be
	wrote  bool             // the answer has begun
	waited bool             // in a queue, so the duration says nothing about the server

	// batched: it is an operation of a batch, which has one answer for all.
	// The own one is put into body instead.
	batched bool
	body    []byte
	limited context.Context // the batch's, which all its operations share

	// undelivered, if set, undoes what makes no sense without the answer.
	undelivered func()
}

// serve is the one place where requests come in and answers go out.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	c := &call{
		s: s, w: w, r: r, rc: http.NewResponseController(w),
		caller: auth.From(r.Context()), id: auth.RequestID(r), began: time.Now(),
	}
	var allow []string
	c.endpoint, c.rest, allow = s.router.find(r.Method, r.URL.EscapedPath())
	c.setHeaders(allow)
	defer c.finish()
	if r.ContentLength != 0 {
		_ = c.rc.SetReadDeadline(c.began.Add(s.o.BodyTimeout))
	}
	c.unhurry()
	c.respond(c.run(allow))
}

// respond answers with what a handler returned.
func (c *call) respond(answer any, err error) {
	switch {
	case c.wrote: // it is too late for anything else
		c.logFailure(err)
	case err != nil:
		c.refuse(err)
	default:
		c.answer(answer)
	}
}

func (c *call) setHeaders(allow []string) {
	h := c.w.Header()
	h.Set("X-Request-Id", c.id)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	h.Set("Cache-Control", "no-store")
	if len(allow) > 0 {
		h.Set("Allow", strings.Join(allow, ", "))
	}
}

func (c *call) run(allow []string) (any, error) {
	switch e := c.endpoint; {
	case e == nil && len(allow) > 0:
		return nil, &leasehold.Error{Reason: codeMethod}
	case e == nil:
		return nil, &leasehold.Error{Reason: codePath}
	case !e.allows(c.caller):
		return nil, &leasehold.Error{Reason: leasehold.ReasonForbidden, Op: e.ID}
	default:
		c.status = e.Status
		return e.run(c)
	}
}

// answer writes what a handler returned, and undoes the undeliverable.
func (c *call) answer(v any) {
	data, err := encode(v)
	if err != nil {
		c.refuse(fmt.Errorf("encoding the answer: %w", err))
		return
	}
	if c.batched {
		_ = c.write(c.status, "", data)
		return // whether it can be delivered will turn out
	}
	// Once the answer is out, a client that closes has read it; before that,
	// one that has closed never will.
	gone := c.r.Context().Err()
	if err := c.write(c.status, "application/json", append(data, '\n')); err == nil && gone == nil {
		return
	}
	if c.undelivered != nil {
		c.undelivered()
	}
}

// encode writes an answer as JSON, by itself if it can.
func encode(v any) ([]byte, error) {
	switch v := v.(type) {
	case encoded:
		return v, nil
	case interface{ AppendJSON([]byte) ([]byte, error) }:
		return v.AppendJSON(make([]byte, 0, 512))
	}
	return json.Marshal(v)
}

// encoded is an answer that is JSON already.
type encoded []byte

var newline = []byte("\n")

// write sends a whole answer and waits until the connection has taken it.
func (c *call) write(status int, media string, body []byte) error {
	if c.batched {
		c.status, c.wrote, c.body = status, true, bytes.TrimSuffix(body, newline)
		return nil
	}
	c.skipBody()
	c.status, c.wrote = status, true
	h := c.w.Header()
	h.Set("Content-Type", media)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	// net/http lifts the deadline after the request.
	_ = c.rc.SetWriteDeadline(time.Now().Add(c.s.o.WriteTimeout))
	c.w.WriteHeader(status)
	if _, err := c.w.Write(body); err != nil && !errors.Is(err, http.ErrBodyNotAllowed) {
		return err
	}
	return c.flush()
}

// flush passes on what was written. A writer that cannot is not at fault.
func (c *call) flush() error {
	err := c.rc.Flush()
	c.unhurry()
	if !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// unhurry lifts the write deadline where it would end a request that waits:
// HTTP/2 resets a stream at its deadline, whether or not anybody writes, and
// counts a server's WriteTimeout from the request on.
func (c *call) unhurry() {
	if c.r.ProtoMajor > 1 {
		_ = c.rc.SetWriteDeadline(time.Time{})
	}
}

// finish catches a panic, counts and logs.
func (c *call) finish() {
	if p := recover(); p != nil {
		c.panicked(p)
	}
	took := time.Since(c.began)
	c.s.metrics.observe(c, took)
	if log := c.s.o.Logger; log.Enabled(c.r.Context(), slog.LevelDebug) {
		log.LogAttrs(c.r.Context(), slog.LevelDebug, "request", c.attrs(
			slog.Int("status", c.status), slog.String("code", string(c.code)), slog.Duration("took", took))...)
	}
}

func (c *call) panicked(p any) {
	if p == http.ErrAbortHandler && !c.batched { // whose goroutine nobody would catch it in
		panic(p)
	}
	c.s.o.Logger.LogAttrs(c.r.Context(), slog.LevelError, "panic", c.attrs(
		slog.String("panic", fmt.Sprint(p)), slog.String("stack", string(debug.Stack())))...)
	if c.wrote && !c.batched {
		panic(http.ErrAbortHandler) // half an answer must not look like a whole one
	}
	c.refuse(errPanicked)
}

var errPanicked = errors.New("a panic, logged above")

// attrs says which request a log line is about, without a word of its path or
// its body: they may hold a lease id.
func (c *call) attrs(more ...slog.Attr) []slog.Attr {
	return append([]slog.Attr{
		slog.String("request_id", c.id), slog.String("route", c.route()),
		slog.String("caller", c.caller.Name), slog.String("remote", c.r.RemoteAddr),
	}, more...)
}

func (c *call) route() string {
	if c.endpoint == nil {
		return "none"
	}
	return c.endpoint.label()
}
