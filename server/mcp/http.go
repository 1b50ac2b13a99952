package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/server/auth"
	"github.com/leasehold/leasehold/wire"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Path is where the handler is on the server's main port.
const Path = "/mcp"

// answerWithin is how long a client may take to accept an answer.
const answerWithin = 20 * time.Second

// Handler returns the streamable HTTP transport, without authentication: it believes
// the caller that the request's context carries (auth.From). It keeps no sessions, so
// any of several servers on one store can answer any request.
func (s *Server) Handler() http.Handler {
	protocol := sdk.NewStreamableHTTPHandler(
		func(*http.Request) *sdk.Server { return s.protocol },
		&sdk.StreamableHTTPOptions{
			Stateless: true, JSONResponse: true, PropagateRequestCancellation: true,
			// auth.Guard has checked the Host, and knows which further names are allowed.
			DisableLocalhostProtection: true,
		})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Request-Id", auth.RequestID(r))
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		if err := s.readBody(w, r); err != nil {
			writeProblem(w, err)
			return
		}
		identity, problem := identify(r)
		caller := &session{identity: identity, problem: problem, alive: r.Context()}
		protocol.ServeHTTP(w, r.WithContext(withSession(r.Context(), caller)))
	})
}

// WithHandler passes requests for Path to tools, and all others to next.
func WithHandler(next, tools http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.TrimSuffix(r.URL.EscapedPath(), "/") == Path {
			tools.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// readBody reads all of the body, so that from then on reading only notices that the
// client has gone, and a wait is not cut off by the server's timeouts.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.o.MaxBody))
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return &leasehold.Error{Reason: leasehold.ReasonTooLarge}
	}
	if err != nil {
		return leasehold.Invalid("body", "did not arrive in time")
	}
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) { // a token's rate counts requests
		return leasehold.Invalid("body", "is a batch; send one message with each request")
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	deadlines := http.NewResponseController(w)
	_ = deadlines.SetReadDeadline(time.Time{})
	_ = deadlines.SetWriteDeadline(time.Now().Add(s.o.MaxWait + s.o.StoreTimeout + answerWithin))
	return nil
}

func writeProblem(w http.ResponseWriter, err error) {
	p := wire.FromError(err.(*leasehold.Error)) // readBody returns no other
	p.RequestID = w.Header().Get("X-Request-Id")
	w.Header().Set("Content-Type", wire.ProblemType)
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // the client may have gone
}
