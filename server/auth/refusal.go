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
	problem := fmt.Sprintf(format, args...)
	return &refusal{
		err:    &leasehold.Error{Reason: leasehold.ReasonForbidden, Field: field, Problem: problem},
		detail: "the " + field + " header " + problem,
	}
}

// refuse answers and logs. The log has neither path nor query, in which people
// put secrets by mistake.
func (g *Guard) refuse(w http.ResponseWriter, r *http.Request, no *refusal) {
	p := wire.FromError(no.err)
	p.Detail = no.detail
	p.RequestID = RequestID(r)
	header := w.Header()
	header.Set("Content-Type", wire.ProblemType)
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("X-Request-Id", p.RequestID)
	if no.challenge != "" {
		header.Set("WWW-Authenticate", no.challenge)
	}
	if no.err.RetryAfter > 0 {
		header.Set("Retry-After", strconv.FormatInt(wholeSeconds(no.err.RetryAfter), 10))
	}
	body, err := json.Marshal(p)
	if err != nil {
		panic(err) // a problem holds nothing that cannot be written
	}
	header.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(p.Status)
	_, _ = w.Write(body) // the caller may have gone: nobody is left to tell
	if g.logged.Allow() {
		g.log.Warn("request refused", "code", p.Code, "why", hideSecrets(p.Detail),
			"method", clip(r.Method), "remote", r.RemoteAddr, "request_id", hideSecrets(p.RequestID))
	}
}

// wholeSeconds rounds up: who comes back too early is refused again.
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

// clip keeps a word that a stranger chose short.
func clip(s string) string {
	if len(s) > 16 {
		return s[:16] + "…"
	}
	return s
}
