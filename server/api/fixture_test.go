package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/pipenet"
	"github.com/leasehold/leasehold/internal/testbuffer"
	"github.com/leasehold/leasehold/server/auth"
	"github.com/leasehold/leasehold/store/memory"
	"github.com/leasehold/leasehold/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// driver sends requests to a server under test, and remembers all that was
// logged and answered.
type driver struct {
	*testing.T
	server *Server
	caller auth.Caller
	log    *testbuffer.Buffer

	mu      sync.Mutex
	replies []reply
}

// newDriver serves the store, which it closes at the end; nil is a new memory
// store.
func newDriver(t *testing.T, store leasehold.Store, o *Options) *driver {
	t.Helper()
	if store == nil {
		store = memory.New()
	}
	d := &driver{T: t, caller: auth.Local, log: &testbuffer.Buffer{}}
	var options Options
	if o != nil {
		options = *o
	}
	options.Logger = slog.New(slog.NewTextHandler(d.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	d.server = New(store, &options)
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	})
	return d
}

// ServeHTTP is the handler with a caller.
func (d *driver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.server.Handler().ServeHTTP(w, r.WithContext(auth.With(r.Context(), d.caller)))
}

// reply is an answer as it came.
type reply struct {
	*testing.T
	request string
	status  int
	header  http.Header
	body    []byte
}

// send sends a request with a JSON body, or none if it is empty.
func (d *driver) send(method, path, body string) reply {
	d.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return d.sendRequest(r)
}

func (d *driver) sendRequest(r *http.Request) reply {
	d.Helper()
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	got := reply{d.T, r.Method + " " + r.RequestURI, w.Code, w.Header(), w.Body.Bytes()}
	d.mu.Lock()
	d.replies = append(d.replies, got)
	d.mu.Unlock()
	return got
}

func (d *driver) post(path string, body any) reply {
	d.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		d.Fatal(err)
	}
	return d.send("POST", path, string(data))
}

// want checks the status and decodes the answer.
func want[T any](r reply, status int) T {
	r.Helper()
	var v T
	if r.status != status {
		r.Fatalf("%s = %d %s, want %d", r.request, r.status, r.body, status)
	}
	if got := r.header.Get("Content-Type"); got != "application/json" {
		r.Errorf("%s: Content-Type = %q, want application/json", r.request, got)
	}
	d := json.NewDecoder(bytes.NewReader(r.body))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		r.Fatalf("%s = %s: %v", r.request, r.body, err)
	}
	return v
}

// wantProblem checks that the answer is a whole problem with this code.
func (r reply) wantProblem(status int, code string) wire.Problem {
	r.Helper()
	var p wire.Problem
	if err := json.Unmarshal(r.body, &p); err != nil {
		r.Fatalf("%s = %d %s: %v", r.request, r.status, r.body, err)
	}
	if r.status != status || p.Status != status || p.Code != code {
		r.Errorf("%s = %d %s, want %d %s", r.request, r.status, r.body, status, code)
	}
	if got := r.header.Get("Content-Type"); got != wire.ProblemType {
		r.Errorf("%s: Content-Type = %q, want %q", r.request, got, wire.ProblemType)
	}
	if p.Type != "/docs#"+code || p.Title == "" || p.Detail == "" || p.RequestID != r.header.Get("X-Request-Id") {
		r.Errorf("%s = %s, want type, title, detail and the request's id", r.request, r.body)
	}
	return p
}

// acquire acquires a lease, or fails the test.
func (d *driver) acquire(resource, holder string) wire.Grant {
	d.Helper()
	return want[wire.Grant](d.post("/v1/leases/acquire", wire.AcquireRequest{Resource: resource, Holder: holder}), http.StatusCreated)
}

func (d *driver) release(id string) {
	d.Helper()
	want[wire.Released](d.post("/v1/leases/release", wire.ReleaseRequest{LeaseID: id}), http.StatusOK)
}

func (d *driver) status(resource string) wire.Resource {
	d.Helper()
	return want[wire.Resource](d.send("GET", "/v1/resource?resource="+queryEscape(resource), ""), http.StatusOK)
}

func readAll(t *testing.T, r io.Reader) string {
	t.Helper()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("reading the answer: %v", err)
	}
	return string(data)
}

func acquireRequest(resource string) leasehold.AcquireRequest {
	return leasehold.AcquireRequest{Resource: resource, Holder: "blob"}
}

func uintText(n uint64) string { return strconv.FormatUint(n, 10) }

func queryEscape(s string) string { return url.QueryEscape(s) }

// listen serves the API on pipes until the test ends, and returns a client.
func (d *driver) listen() (*pipenet.Listener, *http.Client) {
	d.Helper()
	l := pipenet.Listen()
	server := &http.Server{Handler: d}
	served := make(chan error)
	go func() { served <- server.Serve(l) }()
	transport := &http.Transport{DialContext: l.Dial}
	d.Cleanup(func() {
		transport.CloseIdleConnections()
		server.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			d.Errorf("Serve = %v", err)
		}
	})
	return l, &http.Client{Transport: transport}
}

func newRequest(t *testing.T, ctx context.Context, method, path, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, "http://leasehold"+path, bodyOf(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

func bodyOf(s string) io.Reader {
	if s == "" {
		return nil
	}
	return strings.NewReader(s)
}
