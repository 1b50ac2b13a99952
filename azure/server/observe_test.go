package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/azure/content"
	"github.com/leasehold/leasehold/engine"
	"github.com/leasehold/leasehold/server/auth"
	"github.com/leasehold/leasehold/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// requestLog keeps what an observer is told. The spans of requests are in their
// contexts.
type requestLog struct {
	t        *testing.T
	mu       sync.Mutex
	spans    []*testSpan
	requests []Request
}

// testSpan is one call of Start.
type testSpan struct {
	operation string
	parent    *testSpan
	ended     string // status and code; empty: not yet
}

type spanKey struct{}

func spanIn(ctx context.Context) *testSpan {
	s, _ := ctx.Value(spanKey{}).(*testSpan)
	return s
}

func (l *requestLog) observer() *Observer { return &Observer{Start: l.start, Request: l.request} }

func (l *requestLog) start(ctx context.Context, operation string, r *http.Request) (context.Context, func(int, string)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &testSpan{operation: operation, parent: spanIn(ctx)}
	l.spans = append(l.spans, s)
	if r == nil || r.Method == "" {
		l.t.Errorf("Start(%s) got no request", operation)
	}
	return context.WithValue(ctx, spanKey{}, s), func(status int, code string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if s.ended != "" {
			l.t.Errorf("%s ended twice", operation)
		}
		s.ended = strings.TrimSpace(fmt.Sprint(status, " ", code))
	}
}

func (l *requestLog) request(ctx context.Context, r Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := spanIn(ctx)
	if s == nil || s.operation != r.Operation || s.ended != "" || (s.parent != nil) != r.Part {
		l.t.Errorf("Request(%+v) came with the span %+v", r, s)
	}
	if r.Took <= 0 || !slices.Contains(Operations(), r.Operation) && r.Operation != "Half" {
		l.t.Errorf("Request(%+v): want a duration and a known operation", r)
	}
	l.requests = append(l.requests, r)
}

// want compares what was told since the last time; parts of a batch end in any
// order. A request is told of after its answer is on its way.
func (l *requestLog) want(want ...Request) {
	l.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if l.told() >= len(want) {
			break
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	byStatus := cmpopts.SortSlices(func(a, b Request) bool {
		return fmt.Sprint(a.Operation, a.Status) < fmt.Sprint(b.Operation, b.Status)
	})
	if diff := cmp.Diff(want, l.requests, byStatus, cmpopts.IgnoreFields(Request{}, "Took")); diff != "" {
		l.t.Errorf("requests (-want +got):\n%s", diff)
	}
	var spans, ended []string
	for _, s := range l.spans {
		spans = append(spans, s.operation+" "+s.ended)
	}
	for _, r := range want {
		ended = append(ended, strings.TrimSpace(fmt.Sprint(r.Operation, " ", r.Status, " ", r.Code)))
	}
	slices.Sort(spans)
	slices.Sort(ended)
	if diff := cmp.Diff(ended, spans); diff != "" {
		l.t.Errorf("spans (-want +got):\n%s", diff)
	}
	l.requests, l.spans = nil, nil
}

// told is how many requests have come to their end.
func (l *requestLog) told() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.spans {
		if s.ended != "" {
			n++
		}
	}
	return n
}

// newCatalog is on a disk of its own.
func newCatalog(t *testing.T) *catalog.Catalog {
	t.Helper()
	dir := t.TempDir()
	store, err := sqlite.Open(t.Context(), filepath.Join(dir, "leases.db"), &sqlite.Options{Modules: []engine.Module{catalog.Module()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	files, err := content.Open(filepath.Join(dir, "blobs"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { files.Close() })
	rows, err := catalog.Open(t.Context(), store, files, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rows.Close() })
	return rows
}

// client sends requests to the plain API of a server that listens.
type client struct {
	t *testing.T
	*httptest.Server
}

func listen(t *testing.T, s *Server) client {
	t.Helper()
	c := client{t, httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.PlainHandler().ServeHTTP(w, r.WithContext(auth.With(r.Context(), auth.Local)))
	}))}
	c.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	c.Start()
	t.Cleanup(c.Close)
	return c
}

// send returns status, error code and body.
func (c client) send(method, path, body string, headers ...string) (status int, code, answer string) {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.URL+"/blob/devstoreaccount1"+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w, err := c.Client().Do(r)
	if err != nil {
		return 0, "", err.Error()
	}
	defer w.Body.Close()
	data, err := io.ReadAll(w.Body)
	if err != nil {
		return w.StatusCode, "", err.Error()
	}
	return w.StatusCode, w.Header.Get("X-Ms-Error-Code"), string(data)
}

// The lease ids of these tests.
const (
	idA = "2f1c8e4a-6a0e-4c0e-9d4f-1b6f5d2a7c90"
	idB = "7d3b1c55-90aa-4a64-8a0c-5b1e0f2d4c11"
)

// TestObserver: each request is told of once, with what was answered.
func TestObserver(t *testing.T) {
	l := &requestLog{t: t}
	c := listen(t, New(newCatalog(t), &Options{Observer: l.observer()}))
	// exchange sends a request and compares what the observer is told of it with the
	// answer.
	exchange := func(operation string, status int, code, method, path, body string, headers ...string) {
		t.Helper()
		got, gotCode, answer := c.send(method, path, body, headers...)
		if got != status || gotCode != code {
			t.Fatalf("%s %s = %d %s, want %d %s", method, path, got, gotCode, status, code)
		}
		l.want(Request{Operation: operation, Status: status, Code: code, In: int64(len(body)), Out: int64(len(answer))})
	}
	large := strings.Repeat("x", 300<<10)
	exchange("CreateContainer", 201, "", "PUT", "/box?restype=container", "")
	exchange("PutBlockBlob", 201, "", "PUT", "/box/a", large, "X-Ms-Blob-Type", "BlockBlob")
	exchange("GetBlob", 200, "", "GET", "/box/a", "")
	exchange("GetBlob", 206, "", "GET", "/box/a", "", "X-Ms-Range", "bytes=0-99")
	exchange("GetBlobProperties", 200, "", "HEAD", "/box/a", "")
	exchange("GetBlobProperties", 404, "BlobNotFound", "HEAD", "/box/none", "")
	lease := func(action string) []string { return []string{"X-Ms-Lease-Action", action, "X-Ms-Lease-Id", idA} }
	acquire := []string{"X-Ms-Lease-Action", "acquire", "X-Ms-Lease-Duration", "60"}
	exchange("LeaseBlobAcquire", 201, "", "PUT", "/box/a?comp=lease", "", append(acquire, "X-Ms-Proposed-Lease-Id", idA)...)
	exchange("LeaseBlobAcquire", 409, "LeaseAlreadyPresent", "PUT", "/box/a?comp=lease", "", append(acquire, "X-Ms-Proposed-Lease-Id", idB)...)
	exchange("LeaseBlobRenew", 200, "", "PUT", "/box/a?comp=lease", "", lease("renew")...)
	exchange("DeleteBlob", 412, "LeaseIdMissing", "DELETE", "/box/a", "")
	exchange("LeaseBlobRelease", 200, "", "PUT", "/box/a?comp=lease", "", lease("release")...)
	exchange("LeaseContainerBreak", 404, "LeaseNotFound", "PUT", "/box?restype=container&comp=lease", "", "X-Ms-Lease-Action", "break")
	exchange("none", 400, "InvalidQueryParameterValue", "GET", "/box/a?comp=nonsense-"+idA, "")
	exchange("none", 400, "InvalidUri", "GET", "/", "")
	exchange("PreflightBlobRequest", 403, "CorsPreflightFailure", "OPTIONS", "/box/a", "", "Origin", "http://x", "Access-Control-Request-Method", "GET")
	exchange("PutBlockBlob", 400, "Md5Mismatch", "PUT", "/box/a", "x", "X-Ms-Blob-Type", "BlockBlob", "Content-MD5", "AAAAAAAAAAAAAAAAAAAAAA==")
	exchange("BlobBatch", 400, "InvalidInput", "POST", "?comp=batch", "nonsense", "Content-Type", batchType)

	body := parts("DELETE /blob/devstoreaccount1/box/a HTTP/1.1\r\n\r\n", "DELETE /blob/devstoreaccount1/box/none HTTP/1.1\r\n\r\n")
	status, _, answer := c.send("POST", "?comp=batch", body, "Content-Type", batchType)
	if status != 202 || !strings.Contains(answer, "BlobNotFound") {
		t.Fatalf("a batch = %d %s", status, answer)
	}
	_, refusal, _ := strings.Cut(answer[strings.Index(answer, "HTTP/1.1 404"):], "\r\n\r\n")
	refusal, _, _ = strings.Cut(refusal, "\r\n--")
	l.want(
		Request{Operation: "BlobBatch", Status: 202, In: int64(len(body)), Out: int64(len(answer))},
		Request{Operation: "DeleteBlob", Status: 202, Part: true},
		Request{Operation: "DeleteBlob", Status: 404, Code: "BlobNotFound", Out: int64(len(refusal)), Part: true},
	)
}

// TestObserverOfFailures: an answer given up half-way, and a panic.
func TestObserverOfFailures(t *testing.T) {
	l := &requestLog{t: t}
	s := New(nil, &Options{Observer: l.observer()})
	s.routes = newRoutes([]operation{{Name: "half", Level: atService, Method: "GET PUT", Comp: "half", Handle: func(_ *Server, c *call) error {
		if c.r.Method == "PUT" {
			panic("on purpose")
		}
		c.writeHeader(http.StatusOK)
		_, _ = io.WriteString(c.w, "half")
		return errors.New("the disk is gone")
	}}})
	c := listen(t, s)
	c.send("GET", "?comp=half", "")
	l.want(Request{Operation: "Half", Status: 200, Code: "InternalError", Out: 4})
	_, _, answer := c.send("PUT", "?comp=half", "")
	l.want(Request{Operation: "Half", Status: 500, Code: "InternalError", Out: int64(len(answer))})
	s.closed = "there is no account"
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/devstoreaccount1?comp=list", nil))
	l.want(Request{Operation: "none", Status: 403, Code: "AuthorizationFailure", Out: int64(w.Body.Len())})
}

// TestOperations: one word each, and all different.
func TestOperations(t *testing.T) {
	ids := Operations()
	names := map[string]bool{"": true}
	for _, o := range operations {
		names[o.Name] = true
	}
	if len(ids) != len(names)+1 || !slices.IsSorted(ids) { // and none and the preflight, without ""
		t.Errorf("Operations() = %d of %d names", len(ids), len(names))
	}
	for _, id := range ids {
		if strings.ContainsAny(id, " :-") {
			t.Errorf("%q is not one word", id)
		}
	}
	for _, id := range []string{"none", "PreflightBlobRequest", "LeaseBlobAcquire", "LeaseContainerBreak", "FindBlobsByTagsInContainer", "GetBlob"} {
		if !slices.Contains(ids, id) {
			t.Errorf("Operations() lacks %s", id)
		}
	}
}

// requestHandler adds to each line the operation of the span in its context.
type requestHandler struct{ slog.Handler }

func (h requestHandler) Handle(ctx context.Context, r slog.Record) error {
	if s := spanIn(ctx); s != nil {
		r.AddAttrs(slog.String("span", s.operation))
	}
	return h.Handler.Handle(ctx, r)
}

// TestLeasesAreLogged: at Info, renewals at Debug, with the request's context,
// and without a lease id at any level.
func TestLeasesAreLogged(t *testing.T) {
	rows := newCatalog(t)
	for _, level := range []slog.Level{slog.LevelInfo, slog.LevelDebug} {
		var out bytes.Buffer
		l := &requestLog{t: t}
		s := New(rows, &Options{Observer: l.observer(), Logger: slog.New(requestHandler{slog.NewTextHandler(&out, &slog.HandlerOptions{
			Level: level,
			ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
				if slices.Contains([]string{slog.TimeKey, "request_id", "remote", "method"}, a.Key) {
					return slog.Attr{}
				}
				return a
			},
		})})})
		send(t, s, "PUT", "/box?restype=container", "")
		send(t, s, "PUT", "/box/a", "x", "X-Ms-Blob-Type", "BlockBlob")
		blob := func(headers ...string) { send(t, s, "PUT", "/box/a?comp=lease", "", headers...) }
		blob("X-Ms-Lease-Action", "acquire", "X-Ms-Lease-Duration", "60", "X-Ms-Proposed-Lease-Id", idA)
		blob("X-Ms-Lease-Action", "acquire", "X-Ms-Lease-Duration", "60", "X-Ms-Proposed-Lease-Id", idB)
		blob("X-Ms-Lease-Action", "renew", "X-Ms-Lease-Id", idA)
		blob("X-Ms-Lease-Action", "renew", "X-Ms-Lease-Id", idB)
		blob("X-Ms-Lease-Action", "change", "X-Ms-Lease-Id", idA, "X-Ms-Proposed-Lease-Id", idB)
		blob("X-Ms-Lease-Action", "release", "X-Ms-Lease-Id", idB)
		send(t, s, "PUT", "/box?restype=container&comp=lease", "", "X-Ms-Lease-Action", "acquire", "X-Ms-Lease-Duration", "60", "X-Ms-Proposed-Lease-Id", idA)
		send(t, s, "PUT", "/box?restype=container&comp=lease", "", "X-Ms-Lease-Action", "break", "X-Ms-Lease-Break-Period", "0")
		send(t, s, "PUT", "/box/none?comp=lease", "", "X-Ms-Lease-Action", "break") // no blob: no line

		var lines []string
		for line := range strings.Lines(out.String()) {
			if strings.Contains(line, "blob lease") {
				lines = append(lines, strings.TrimSpace(line))
			}
		}
		line := func(level, what, operation, blob, more string) string {
			return fmt.Sprintf(`level=%s msg="blob lease %s" operation="Lease %s" account=devstoreaccount1 container=box blob=%s%s span=Lease%s`,
				level, what, operation, blob, more, operationID(operation))
		}
		want := []string{
			line("INFO", "acquired", "Blob: acquire", "a", ""),
			line("INFO", "refused", "Blob: acquire", "a", " code=LeaseAlreadyPresent"),
			line("DEBUG", "renewed", "Blob: renew", "a", ""),
			line("INFO", "refused", "Blob: renew", "a", " code=LeaseIdMismatch"),
			line("INFO", "changed", "Blob: change", "a", ""),
			line("INFO", "released", "Blob: release", "a", ""),
			line("INFO", "acquired", "Container: acquire", `""`, ""),
			line("INFO", "broken", "Container: break", `""`, ""),
		}
		if level == slog.LevelInfo {
			want = slices.Delete(want, 2, 3)
		}
		if diff := cmp.Diff(want, lines); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
		if text := strings.ToLower(out.String()); strings.Contains(text, idA[:8]) || strings.Contains(text, idB[:8]) {
			t.Errorf("the log has a lease id:\n%s", text)
		}
	}
}
