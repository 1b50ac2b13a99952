package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/wire"
)

// respond answers with what a handler returned.
func (c *call) respond(answer any, err error) {
	switch {
	case c.wrote: // by the handler: too late for anything else
		c.logFailure(err)
	case err != nil:
		c.writeProblem(err)
	default:
		c.writeAnswer(answer)
	}
}

// writeAnswer writes what a handler returned as JSON. If that cannot be
// delivered, what makes no sense without the answer is undone.
func (c *call) writeAnswer(v any) {
	data, err := encode(v)
	if err != nil {
		c.writeProblem(fmt.Errorf("encoding the answer: %w", err))
		return
	}
	if c.batched {
		_ = c.write(c.status, "", data)
		return // the batch knows whether it could be delivered
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

// encode writes an answer as JSON, by its own method if it has one.
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

// write sends a whole answer and waits until the connection has accepted it.
func (c *call) write(status int, media string, body []byte) error {
	if c.batched {
		c.status, c.wrote, c.answer = status, true, bytes.TrimSuffix(body, newline)
		return nil
	}
	skipBody(c)
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

// flush passes on what was written, if the writer can.
func (c *call) flush() error {
	err := c.rc.Flush()
	c.clearWriteDeadline()
	if !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// clearWriteDeadline lifts the write deadline where it would end a request that
// waits: HTTP/2 resets a stream at its deadline, whether or not anybody writes,
// and counts a server's WriteTimeout from the request on.
func (c *call) clearWriteDeadline() {
	if c.r.ProtoMajor > 1 {
		_ = c.rc.SetWriteDeadline(time.Time{})
	}
}

// ownProblems are the problems of the API itself.
var ownProblems = map[leasehold.Reason]struct {
	status int
	detail string
}{
	codePath:     {http.StatusNotFound, "there is no such path; /docs lists them"},
	codeMethod:   {http.StatusMethodNotAllowed, "the path does not take this method; the header Allow says which it takes"},
	codeInternal: {http.StatusInternalServerError, "something went wrong here; the server's log has it under the request id"},
}

// writeProblem writes an error as a problem document. The cause of a failure of
// ours goes to the log only: it may name files and hosts.
func (c *call) writeProblem(err error) {
	e := publicError(err)
	p := problemOf(e)
	if p.Status >= http.StatusInternalServerError {
		c.logFailure(err)
	}
	c.code, p.RequestID = e.Reason, c.requestID
	if after := retryAfter(e, p.Status); after != "" && !c.batched {
		c.w.Header().Set("Retry-After", after)
	}
	data, err := json.Marshal(p)
	if err != nil {
		panic(err) // a problem holds nothing that cannot be written
	}
	_ = c.write(p.Status, wire.ProblemType, append(data, '\n')) // a client that has gone needs no refusal
}

// publicError returns the error without what clients must not see.
func publicError(err error) *leasehold.Error {
	var e *leasehold.Error
	if !errors.As(err, &e) {
		return &leasehold.Error{Reason: codeInternal}
	}
	if e.Cause == errDraining {
		return e
	}
	return wire.Public(e)
}

func problemOf(e *leasehold.Error) wire.Problem {
	p := wire.FromError(e)
	if own, ok := ownProblems[e.Reason]; ok {
		p.Status, p.Title, p.Detail = own.status, http.StatusText(own.status), own.detail
	}
	return p
}

// retryAfter returns the header's value, or "" where none belongs.
func retryAfter(e *leasehold.Error, status int) string {
	switch {
	case e.Reason == leasehold.ReasonHeld, e.Reason == leasehold.ReasonBreaking:
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable:
	default:
		return ""
	}
	after := e.RetryAfter
	if e.Reason == leasehold.ReasonBreaking && after == 0 {
		after = e.Remaining
	}
	return strconv.FormatFloat(math.Max(1, math.Ceil(after.Seconds())), 'f', 0, 64)
}

// unsupported is the error for an optional method that the store lacks.
func (c *call) unsupported() error {
	return &leasehold.Error{Reason: leasehold.ReasonUnsupported, Op: c.endpoint.ID}
}

func (c *call) forbidden(resource string) error {
	return &leasehold.Error{Reason: leasehold.ReasonForbidden, Op: c.endpoint.ID, Resource: resource}
}

// tooMany is the error for a caller that has too many requests of a kind under
// way. The limit, if given, becomes part of the detail.
func (c *call) tooMany(resource string, limit error) error {
	return &leasehold.Error{Reason: leasehold.ReasonRateLimited, Op: c.endpoint.ID, Resource: resource, RetryAfter: time.Second, Cause: limit}
}
