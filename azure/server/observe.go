package server

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Observer is told of requests, those in a batch too: they come as requests of
// their own, beside that of the batch. A nil function costs nothing.
//
// The functions are called by the goroutine that serves the request, without any
// lock: a slow one delays the answer to that request and nothing else. The
// request's URL and headers may hold signatures and lease ids, which they must
// not pass on.
type Observer struct {
	// Start is called when the operation is known, before the caller is
	// authorized. The request goes on with the context that it returns; end is
	// called once, with the status and the error code that were answered.
	Start func(ctx context.Context, operation string, r *http.Request) (_ context.Context, end func(status int, code string))

	// Request is called when a request is answered, with the context of Start.
	Request func(ctx context.Context, r Request)
}

// Request is one request that was answered.
type Request struct {
	Operation string // one of Operations
	Status    int    // of HTTP
	Code      string // Azure's, of an error; empty: it was none
	Took      time.Duration
	In, Out   int64 // bytes of the bodies that were read and written
	Part      bool  // of a batch
}

// noOperation is the name of requests that are none of the protocol's.
const noOperation = "none"

// preflight is what a browser sends before another request.
var preflight = &operation{Name: "Preflight Blob Request", ID: operationID("Preflight Blob Request")}

// Operations returns every name that Request.Operation can have, sorted.
func Operations() []string {
	ids := []string{noOperation, preflight.ID}
	for _, o := range operations {
		ids = append(ids, operationID(o.Name))
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// operationID is the name in one word: "Lease Blob: acquire" is LeaseBlobAcquire.
func operationID(name string) string {
	var id strings.Builder
	for word := range strings.FieldsSeq(strings.ReplaceAll(name, ":", "")) {
		id.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return id.String()
}

func (c *call) operationID() string {
	if c.op == nil {
		return noOperation
	}
	return c.op.ID
}

// start calls Observer.Start.
func (s *Server) start(c *call) {
	if s.observer.Start == nil {
		return
	}
	ctx, end := s.observer.Start(c.r.Context(), c.operationID(), c.r)
	c.r, c.end = c.r.WithContext(ctx), end
}

// report tells the observer and the log of a request that is answered: its
// operation and outcome, and nothing of its address, which may hold a signature.
func (s *Server) report(c *call) {
	took := time.Since(c.started)
	if s.log.Enabled(c.r.Context(), slog.LevelDebug) {
		s.log.LogAttrs(c.r.Context(), slog.LevelDebug, "blob request", c.attrs(
			slog.Int("status", c.status), slog.String("code", c.code), slog.Duration("took", took))...)
	}
	if s.observer.Request != nil {
		in, out := c.bytes()
		s.observer.Request(c.r.Context(), Request{
			Operation: c.operationID(), Status: c.status, Code: c.code, Took: took,
			In: in, Out: out, Part: c.batch != nil,
		})
	}
	if c.end != nil {
		c.end(c.status, c.code)
	}
}

// bytes is how much of the bodies was read and written.
func (c *call) bytes() (in, out int64) {
	switch w := c.w.(type) {
	case *stallWriter:
		return w.in, w.out
	case *recorder:
		return 0, int64(w.body.Len())
	}
	return 0, 0
}
