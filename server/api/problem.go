package api

import (
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/wire"
)

// Codes of the door itself. They are no outcome of a store, so the vocabulary
// does not know them.
const (
	codePath     leasehold.Reason = "not_found"
	codeMethod   leasehold.Reason = "method_not_allowed"
	codeInternal leasehold.Reason = "internal"
)

var ownProblems = map[leasehold.Reason]struct {
	status int
	detail string
}{
	codePath:     {http.StatusNotFound, "there is no such path; /docs lists them"},
	codeMethod:   {http.StatusMethodNotAllowed, "the path does not take this method; the header Allow says which it takes"},
	codeInternal: {http.StatusInternalServerError, "something went wrong here; the server's log has it under the request id"},
}

// refuse writes an error as a problem document. What lies underneath a failure
// of ours goes to the log only: it may name files and hosts.
func (c *call) refuse(err error) {
	e := c.asError(err)
	p := problemOf(e)
	if p.Status >= http.StatusInternalServerError {
		c.logFailure(err)
	}
	c.code, p.RequestID = e.Reason, c.id
	if after := retryAfter(e, p.Status); after != "" && !c.batched {
		c.w.Header().Set("Retry-After", after)
	}
	data, err := json.Marshal(p)
	if err != nil {
		panic(err) // a problem holds nothing that cannot be written
	}
	_ = c.write(p.Status, wire.ProblemType, append(data, '\n')) // whoever is gone needs no refusal
}

// asError returns the error that the problem tells of.
func (c *call) asError(err error) *leasehold.Error {
	var e *leasehold.Error
	if !errors.As(err, &e) {
		return &leasehold.Error{Reason: codeInternal}
	}
	told := *e
	if wire.Status(e) >= http.StatusInternalServerError && told.Cause != errDraining {
		told.Cause = nil
	}
	return &told
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

func (c *call) logFailure(err error) {
	if err == nil {
		return
	}
	level := slog.LevelError
	if c.r.Context().Err() != nil || errors.Is(err, errDraining) || errors.Is(err, os.ErrDeadlineExceeded) {
		level = slog.LevelDebug // the client left, was asked to, or did not listen
	}
	c.s.o.Logger.LogAttrs(c.r.Context(), level, "request failed", c.attrs(slog.String("error", err.Error()))...)
}

func invalid(field, problem string) error {
	return &leasehold.Error{Reason: leasehold.ReasonInvalid, Field: field, Problem: problem}
}

// unsupported is the error for a power that the store lacks.
func (c *call) unsupported() error {
	return &leasehold.Error{Reason: leasehold.ReasonUnsupported, Op: c.endpoint.ID}
}

func (c *call) forbidden(resource string) error {
	return &leasehold.Error{Reason: leasehold.ReasonForbidden, Op: c.endpoint.ID, Resource: resource}
}

// tooMany is the error for a caller that has too much of one thing under way.
func (c *call) tooMany(limit error) error {
	return &leasehold.Error{Reason: leasehold.ReasonRateLimited, Op: c.endpoint.ID, RetryAfter: time.Second, Cause: limit}
}

// crowded is the error for a caller that has too much under way.
func (c *call) crowded(resource string) error {
	return &leasehold.Error{Reason: leasehold.ReasonRateLimited, Op: c.endpoint.ID, Resource: resource, RetryAfter: time.Second}
}
