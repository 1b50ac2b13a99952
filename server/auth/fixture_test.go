package auth

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leasehold/leasehold/internal/testbuffer"
	"github.com/leasehold/leasehold/wire"
)

// logBuffer is a log that can be read while it is written.
type logBuffer struct{ testbuffer.Buffer }

func (d *logBuffer) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(d, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// newGuard returns a guard that is closed when the test ends, and its log.
func newGuard(t testing.TB, o Options) (*Guard, *logBuffer) {
	t.Helper()
	log := new(logBuffer)
	o.Logger = log.logger()
	g, err := New(&o)
	if err != nil {
		t.Fatalf("New(%+v) = %v", o, err)
	}
	t.Cleanup(g.Close)
	return g, log
}

func tokenPath(t testing.TB) string { return filepath.Join(t.TempDir(), "tokens") }

func mustCreate(t testing.TB, path string, spec TokenSpec) string {
	t.Helper()
	secret, err := CreateToken(path, spec)
	if err != nil {
		t.Fatalf("CreateToken(%+v) = %v", spec, err)
	}
	return secret
}

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// whoami is a handler that tells who called.
var whoami = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Caller", From(r.Context()).Name)
	w.WriteHeader(http.StatusNoContent)
})

// request makes one to the default address. Headers are "Name: value" lines; a
// Host line sets the host.
func request(method, target string, headers ...string) *http.Request {
	r := httptest.NewRequest(method, "http://localhost:8105"+target, nil)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			r.Host = value
			continue
		}
		r.Header.Add(name, value)
	}
	return r
}

func bearerHeader(secret string) string { return "Authorization: Bearer " + secret }

// send passes the request through the guard. Every refusal must be a problem.
func send(t testing.TB, g *Guard, r *http.Request) (*http.Response, wire.Problem) {
	t.Helper()
	w := httptest.NewRecorder()
	g.Wrap(whoami).ServeHTTP(w, r)
	answer := w.Result()
	var p wire.Problem
	if answer.StatusCode == http.StatusNoContent {
		return answer, p
	}
	if got := answer.Header.Get("Content-Type"); got != wire.ProblemType {
		t.Errorf("%s %s: Content-Type %q, want %q", r.Method, r.URL, got, wire.ProblemType)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Errorf("%s %s: body %q: %v", r.Method, r.URL, w.Body, err)
	}
	if p.Status != answer.StatusCode || p.Detail == "" || p.RequestID == "" || p.RequestID != answer.Header.Get("X-Request-Id") {
		t.Errorf("%s %s: status %d, problem %+v", r.Method, r.URL, answer.StatusCode, p)
	}
	return answer, p
}

func wantCode(t testing.TB, g *Guard, r *http.Request, status int, code string) {
	t.Helper()
	answer, p := send(t, g, r)
	if answer.StatusCode != status || p.Code != code {
		t.Errorf("%s %s %v = %d %q (%s), want %d %q", r.Method, r.URL, r.Host, answer.StatusCode, p.Code, p.Detail, status, code)
	}
}

func wantCaller(t testing.TB, g *Guard, r *http.Request, name string) {
	t.Helper()
	answer, p := send(t, g, r)
	if got := answer.Header.Get("Caller"); answer.StatusCode != http.StatusNoContent || got != name {
		t.Errorf("%s %s = %d, caller %q (%s), want caller %q", r.Method, r.URL, answer.StatusCode, got, p.Detail, name)
	}
}
