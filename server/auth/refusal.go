package auth

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/wire"
)

// refusal is why a request does not reach the handler.
type refusal struct {
	err       *leasehold.Error
	detail    string // for people
	challenge string // WWW-Authenticate
}

func forbidden(field, format string, args ...any) *refusal {
	err := &leasehold.Error{Reason: leasehold.ReasonForbidden, Field: field, Problem: fmt.Sprintf(format, args...)}
	return &refusal{err: err, detail: err.Error()}
}

func unauthenticated(r *http.Request, why string) *refusal {
	challenge := `Bearer realm="leasehold"`
	if r.Header.Get("Authorization") != "" {
		challenge += `, error="invalid_token"`
	}
	return &refusal{err: &leasehold.Error{Reason: leasehold.ReasonUnauthenticated}, detail: why, challenge: challenge}
}

func tooMany(wait time.Duration, why string) *refusal {
	e := &leasehold.Error{Reason: leasehold.ReasonRateLimited, RetryAfter: max(wait, time.Millisecond)}
	return &refusal{err: e, detail: why + "; " + e.Error()}
}

// write answers with the refusal and returns it as it was written.
func (refused *refusal) write(w http.ResponseWriter, requestID string) wire.Problem {
	p := wire.FromError(refused.err)
	p.Detail = refused.detail
	p.RequestID = requestID
	header := w.Header()
	header.Set("Content-Type", wire.ProblemType)
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("X-Request-Id", requestID)
	if refused.challenge != "" {
		header.Set("WWW-Authenticate", refused.challenge)
	}
	if refused.err.RetryAfter > 0 {
		header.Set("Retry-After", strconv.FormatInt(wholeSeconds(refused.err.RetryAfter), 10))
	}
	body, err := json.Marshal(p)
	if err != nil {
		panic(err) // a problem holds nothing that cannot be written
	}
	header.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(p.Status)
	_, _ = w.Write(body) // the caller may have gone
	return p
}

// wholeSeconds rounds up: a client that comes back too early is refused again.
func wholeSeconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// RequestID names a request: as the caller does in X-Request-Id, if that is
// printable and at most 128 bytes, or with a new name.
func RequestID(r *http.Request) string {
	id := r.Header.Get("X-Request-Id")
	strange := func(c rune) bool { return c < ' ' || c > '~' }
	if id == "" || len(id) > 128 || strings.ContainsFunc(id, strange) {
		return rand.Text()
	}
	return id
}
