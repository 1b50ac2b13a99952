package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/wire"
)

// failure is the error of a call without an answer, or with one that cannot be
// decoded.
func (s *Store) failure(ctx context.Context, c *call, err error) error {
	unsent := new(notSent)
	sent := !errors.As(err, &unsent)
	if !sent {
		err = unsent.error
	}
	e := &leasehold.Error{Op: c.op, Resource: c.resource, Store: kind, Cause: s.cause(ctx, err)}
	switch {
	case c.effect == waits && s.closed():
		e.Reason = leasehold.ReasonUnavailable
	case c.effect == waits && ctx.Err() != nil:
		e.Reason = leasehold.ReasonCancelled
	case sent && c.effect != reads:
		e.Reason = leasehold.ReasonUnknown
	default:
		e.Reason = leasehold.ReasonUnavailable
	}
	return e
}

// cause returns why there is no answer. Where the client itself ended the call,
// it returns the reason for that instead of the network's error.
func (s *Store) cause(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case s.closed():
		return errClosed
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s did not answer within %v", s.address, s.o.Timeout)
	}
	return fmt.Errorf("%s: %w", s.address, err)
}

// refusal is the error that the server answered.
func (s *Store) refusal(c *call, r reply) error {
	var p wire.Problem
	if !r.isProblem() || json.Unmarshal(r.body, &p) != nil || p.Code == "" {
		return s.proxyError(c, r)
	}
	if p.Status == 0 {
		p.Status = r.status
	}
	if p.Code == noSuchPath {
		return s.noPath(c)
	}
	e := p.Error()
	if e.Op == "" {
		e.Op = c.op
	}
	if e.Resource == "" {
		e.Resource = c.resource
	}
	if e.Reason == leasehold.ReasonInvalid && unknownName(e.Problem) {
		e.Reason = leasehold.ReasonUnsupported
	}
	return e
}

// noSuchPath is the code with which a server refuses a path that it does not have.
// It says nothing about leases, unlike the other answers with its status.
const noSuchPath = "not_found"

// noPath is the error for such a path: the address is wrong, or the server is older
// than the call.
func (s *Store) noPath(c *call) error {
	return &leasehold.Error{
		Reason: leasehold.ReasonUnsupported, Op: c.op, Resource: c.resource, Store: kind,
		Cause: fmt.Errorf("%s has no such path; is the address right, and the server as new as this client?", s.address),
	}
}

// unknownName reports whether the server does not know a field or parameter that this
// client sends: it is older than what was requested.
func unknownName(problem string) bool {
	return strings.HasPrefix(problem, "is no field of this call") || strings.HasPrefix(problem, "is no parameter of this call")
}

func (r reply) isProblem() bool {
	return strings.HasPrefix(r.header.Get("Content-Type"), wire.ProblemType)
}

// proxyError is the error for an answer without a problem document: not the API
// has answered but a proxy, say. What would be definitive from the server is not
// from a proxy, or leases would be lost when it restarts.
func (s *Store) proxyError(c *call, r reply) error {
	e := &leasehold.Error{Op: c.op, Resource: c.resource, Store: kind, Reason: leasehold.ReasonUnavailable}
	switch {
	case definitive[r.status]:
		e.Reason = wire.ReasonOf(r.status)
	case c.effect != reads && r.status/100 != 3 && !notForwarded[r.status]:
		e.Reason = leasehold.ReasonUnknown
	}
	if n, err := strconv.Atoi(r.header.Get("Retry-After")); err == nil && n > 0 {
		e.RetryAfter = time.Duration(min(n, 86_400)) * time.Second
	}
	e.Cause = fmt.Errorf("%s answered %d %s without a problem document; is it a Leasehold server?",
		s.address, r.status, http.StatusText(r.status))
	if r.status == http.StatusBadRequest && bytes.Contains(r.body, []byte(plainAtTLS)) {
		e.Cause = fmt.Errorf("%s speaks TLS; want https://", s.address)
	}
	return e
}

// plainAtTLS is what servers made with Go answer to a request without TLS.
const plainAtTLS = "HTTP request to an HTTPS server"

// definitive are the statuses that mean the same from a proxy as from the server.
var definitive = map[int]bool{
	http.StatusUnauthorized:          true,
	http.StatusForbidden:             true,
	http.StatusRequestEntityTooLarge: true,
	http.StatusUnsupportedMediaType:  true,
	http.StatusTooManyRequests:       true,
	http.StatusNotImplemented:        true,
	http.StatusServiceUnavailable:    true,
}

// notForwarded are the statuses with which a proxy refuses a request before it
// forwards it. After any other that is not definitive, such as a proxy's own
// timeout (408), the call may have happened.
var notForwarded = map[int]bool{
	http.StatusBadRequest:                  true,
	http.StatusForbidden:                   true,
	http.StatusNotFound:                    true,
	http.StatusMethodNotAllowed:            true,
	http.StatusRequestEntityTooLarge:       true,
	http.StatusRequestURITooLong:           true,
	http.StatusUnsupportedMediaType:        true,
	http.StatusRequestHeaderFieldsTooLarge: true,
}

// localError completes an error that the client found itself.
func localError(op, resource string, err error) error {
	e, ok := err.(*leasehold.Error)
	if !ok {
		return err
	}
	full := *e
	full.Op, full.Store = op, kind
	if full.Resource == "" {
		full.Resource = resource
	}
	return &full
}
