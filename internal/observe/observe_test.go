package observe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/leasehold/leasehold"
	azure "github.com/leasehold/leasehold/azure/server"
	"github.com/leasehold/leasehold/internal/observe/otlptest"
	"github.com/leasehold/leasehold/server/api"
	"github.com/leasehold/leasehold/store/local"
	"github.com/leasehold/leasehold/store/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start starts a program that ends with the test.
func start(t *testing.T, o Options) *Program {
	t.Helper()
	p, err := Start(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func (p *Program) page(t *testing.T) string {
	t.Helper()
	w := httptest.NewRecorder()
	p.Page().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("the page = %d %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func wantLines(t *testing.T, page string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(page, "\n"+line+"\n") {
			t.Errorf("the page lacks %s", line)
		}
	}
	if t.Failed() {
		t.Log(page)
	}
}

type figures local.Figures

func (f figures) Figures() local.Figures { return local.Figures(f) }

// Without variables there are metrics on the page, no spans, and no goroutine.
func TestPage(t *testing.T) {
	clearEnvironment(t)
	before := goleak.IgnoreCurrent()
	p := start(t, Options{Version: "v1.2.3", Page: true})
	if err := goleak.Find(before); err != nil {
		t.Errorf("Start without variables runs something: %v", err)
	}
	o, err := p.API()
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if got := o.Started(ctx, api.Observed{Route: "GET /x"}); got != ctx || p.Tracing() {
		t.Errorf("Started without an exporter returned another context")
	}
	if s := trace.SpanContextFromContext(o.Started(ctx, api.Observed{Trace: api.Trace{Parent: parent}})); s.TraceID().String() != "0af7651916cd43dd8448eb211c80319c" {
		t.Errorf("the client's trace is %v, want it for the log", s)
	}
	for range 3 {
		o.Ended(ctx, api.Observed{Route: "GET /x"}, api.Outcome{Status: 200, Duration: 3 * time.Millisecond})
	}
	o.Ended(ctx, api.Observed{Route: "GET /x"}, api.Outcome{Status: 409, Code: "lease_held", Duration: time.Second})
	o.Ended(ctx, api.Observed{Route: "GET /x"}, api.Outcome{Status: 201, Waited: true, Duration: 2 * time.Second})
	o.Ended(ctx, api.Observed{Route: "GET /s"}, api.Outcome{Status: 200, Long: true, Duration: time.Hour})
	o.Ended(ctx, api.Observed{Route: "GET /s"}, api.Outcome{Status: 9999, Long: true})
	o.Checked("ready", "degraded")
	server := api.New(memoryStore(t), nil)
	if err := p.WatchAPI(server); err != nil {
		t.Error(err)
	}
	wantLines(t, p.page(t),
		`leasehold_http_requests_total{code="200",route="GET /x"} 3`, `leasehold_http_requests_total{code="409",route="GET /x"} 1`,
		`leasehold_http_requests_total{code="599",route="GET /s"} 1`,
		`leasehold_http_request_duration_seconds_bucket{route="GET /x",le="0.0025"} 0`, `leasehold_http_request_duration_seconds_bucket{route="GET /x",le="0.005"} 3`,
		`leasehold_http_request_duration_seconds_count{route="GET /x"} 4`,
		`leasehold_acquire_wait_seconds_bucket{le="1"} 0`, `leasehold_acquire_wait_seconds_bucket{le="5"} 1`, `leasehold_acquire_wait_seconds_count 1`,
		`leasehold_refusals_total{code="lease_held"} 1`, `leasehold_refusals_total{code="deadlock"} 0`,
		`leasehold_health_status{check="ready",status="degraded"} 1`, `leasehold_health_status{check="ready",status="healthy"} 0`,
		`leasehold_waiters 0`, `leasehold_event_streams 0`,
	)
	if page := p.page(t); strings.Contains(page, `duration_seconds_count{route="GET /s"}`) || !strings.Contains(page, `leasehold_build_info{go_version="go`) || !strings.Contains(page, `version="v1.2.3"} 1`) || strings.Contains(page, "otel_scope") {
		t.Errorf("the page is %s", page)
	}
}

func memoryStore(t *testing.T) leasehold.Store {
	s := memory.New()
	t.Cleanup(func() { s.Close() })
	return s
}

func TestEngineMetrics(t *testing.T) {
	clearEnvironment(t)
	p := start(t, Options{Page: true})
	o, err := p.Engine()
	if err != nil {
		t.Fatal(err)
	}
	o.Commit(local.Commit{Changes: 3, Took: 2 * time.Millisecond})
	o.Commit(local.Commit{Changes: 100, Took: time.Second, Err: errors.New("disk full")})
	f := figures{Leases: 5, Waiters: 6, HistoryRecords: 7, CommitFailures: 2, Cleanups: 8, Cleaned: leasehold.Cleaned{Expired: 9, HistoryPurged: 10, Forgotten: 11}, Disk: local.DiskFigures{Database: 12, Free: 13, Reserve: -1}}
	end, err := p.WatchEngine(f)
	if err != nil {
		t.Fatal(err)
	}
	page := p.page(t)
	wantLines(t, page, `leasehold_commit_batch_size_bucket{le="4"} 1`, `leasehold_commit_batch_size_count 2`, `leasehold_commit_duration_seconds_bucket{le="0.0025"} 1`,
		`leasehold_commit_failures_total 2`, `leasehold_leases 5`, `leasehold_queue_length 6`, `leasehold_history_records 7`, `leasehold_cleanup_runs_total 8`,
		`leasehold_cleanup_removed_total{what="expired"} 9`, `leasehold_cleanup_removed_total{what="history"} 10`, `leasehold_cleanup_removed_total{what="forgotten"} 11`,
		`leasehold_database_size_bytes 12`, `leasehold_disk_free_bytes 13`)
	if strings.Contains(page, "leasehold_disk_reserve_bytes ") {
		t.Error("the page has a figure that is not known")
	}
	if err := end(); err != nil {
		t.Error(err)
	}
	if page := p.page(t); strings.Contains(page, "\nleasehold_leases ") {
		t.Error("the engine is read after its end")
	}
}

func TestBlobMetrics(t *testing.T) {
	clearEnvironment(t)
	p := start(t, Options{Page: true})
	o, err := p.Blobs()
	if err != nil || o.Start != nil {
		t.Fatalf("Blobs() = %+v, %v, want no spans", o, err)
	}
	for range 2 {
		o.Request(context.Background(), azure.Request{Operation: "PutBlob", Status: 201, Took: time.Millisecond})
	}
	wantLines(t, p.page(t), `leasehold_blob_requests_total{code="201",operation="PutBlob"} 2`, `leasehold_blob_request_duration_seconds_count{operation="PutBlob"} 2`)
}

// receive starts a receiver, and sets the variables that name it.
func receive(t *testing.T, protocol string) *otlptest.Receiver {
	t.Helper()
	r, err := otlptest.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	endpoint := map[string]string{"grpc": r.GRPC, "http/protobuf": r.HTTP}[protocol]
	setEnvironment(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL="+protocol,
		"OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20"+secret, "OTEL_EXPORTER_OTLP_COMPRESSION=gzip")
	return r
}

// Everything arrives over both protocols, by Close at the latest.
func TestExport(t *testing.T) {
	for _, protocol := range []string{"grpc", "http/protobuf"} {
		t.Run(protocol, func(t *testing.T) {
			r := receive(t, protocol)
			out := &buffer{}
			log := NewLog(out, true, slog.LevelInfo)
			defer log.Close()
			p := start(t, Options{Version: "v1", Log: log, Page: true})
			o, err := p.API()
			if err != nil {
				t.Fatal(err)
			}
			request := o.Started(context.Background(), api.Observed{Route: "POST /batch"})
			operation := o.Started(request, api.Observed{Route: "POST /a", Batched: true, Trace: api.Trace{Parent: parent}})
			log.Logger().With("a", 1).WithGroup("g").WarnContext(operation, "words", "b", 2)
			o.Ended(operation, api.Observed{Route: "POST /a", Batched: true}, api.Outcome{Status: 503, Code: "store_unavailable"})
			o.Ended(request, api.Observed{Route: "POST /batch"}, api.Outcome{Status: 200})
			unknown := api.Observed{Route: api.NoRoute}
			o.Ended(o.Started(context.Background(), unknown), unknown, api.Outcome{Status: 404})
			blobs, err := p.Blobs()
			if err != nil {
				t.Fatal(err)
			}
			for method, status := range map[string]int{"PUT": 201, "BREW": 500} {
				_, end := blobs.Start(context.Background(), "PutBlob", httptest.NewRequest(method, "/c/b?sig="+secret, nil))
				end(status, map[int]string{500: "InternalError"}[status])
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			spans := map[string]otlptest.Span{}
			for _, s := range r.Spans() {
				spans[s.Name+" "+s.Attributes["http.response.status_code"]] = s
			}
			batch, a := spans["POST /batch 200"], spans["POST /a 503"]
			if a.Kind != "server" || a.Parent != "b7ad6b7169203331" || !slices.Equal(a.Links, []string{batch.ID}) || !a.Failed || a.Attributes["leasehold.code"] != "store_unavailable" || a.Attributes["error.type"] != "503" {
				t.Errorf("the operation's span is %+v", a)
			}
			if batch.Parent != "" || batch.Failed || batch.Scope != scope || batch.Version != "v1" || batch.Resource["service.name"] != "leasehold" {
				t.Errorf("the request's span is %+v", batch)
			}
			if n := spans["none 404"]; n.Kind != "server" || n.Attributes["http.request.method"] != "" || n.Attributes["http.route"] != "" {
				t.Errorf("the span without a route is %+v", n)
			}
			if b := spans["PutBlob 500"]; b.Kind != "server" || !b.Failed || b.Attributes["http.request.method"] != "_OTHER" || b.Attributes["leasehold.code"] != "InternalError" {
				t.Errorf("the blob's span is %+v", b)
			}
			if b := spans["PutBlob 201"]; b.Failed || b.Attributes["http.request.method"] != "PUT" {
				t.Errorf("the blob's span is %+v", b)
			}
			if m := r.Points("leasehold.refusals")[fmt.Sprint(otlptest.Attributes{"code": "store_unavailable"})]; m.Value != 1 || m.Kind != "sum" {
				t.Errorf("the metric is %+v", m)
			}
			logs := r.Logs()
			if len(logs) != 1 || logs[0].Body != "words" || logs[0].Severity != "WARN" || logs[0].Trace != a.Trace || logs[0].Span != a.ID || logs[0].Attributes["a"] != "1" {
				t.Errorf("the records are %+v", logs)
			}
			if strings.Contains(r.Text()+out.String(), secret) || !slices.Contains(r.Headers(), "authorization: Bearer "+secret) {
				t.Errorf("the secret is not where it belongs: %s", r.Text())
			}
		})
	}
}

// Azure Monitor adds up what it gets, so counters must be increases for it; for
// /metrics they stay totals.
func TestIncreases(t *testing.T) {
	r := receive(t, "http/protobuf")
	t.Setenv("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "delta")
	p := start(t, Options{Page: true})
	o, err := p.API()
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for _, n := range []int{3, 2} {
		for range n {
			o.Ended(ctx, api.Observed{Route: "GET /a"}, api.Outcome{Status: 409, Code: "lease_held"})
		}
		if err := p.flush(ctx); err != nil {
			t.Fatal(err)
		}
		if got := r.Points("leasehold.refusals")[fmt.Sprint(otlptest.Attributes{"code": "lease_held"})].Value; got != float64(n) {
			t.Errorf("after %d more refusals %v are exported", n, got)
		}
	}
	wantLines(t, p.page(t), `leasehold_refusals_total{code="lease_held"} 5`)
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// A collector that refuses is a line in the log, not an error, and the line is not
// exported.
func TestExportRefused(t *testing.T) {
	for _, protocol := range []string{"grpc", "http/protobuf"} {
		r := receive(t, protocol)
		r.Refuse()
		out := &buffer{}
		log := NewLog(out, false, slog.LevelInfo)
		p := start(t, Options{Log: log})
		_, span := p.tracer().Start(context.Background(), "s")
		span.End()
		log.Logger().Info("words")
		p.FlushMetrics()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		log.Close()
		if !strings.Contains(out.String(), "telemetry could not be exported") || strings.Contains(out.String(), secret) {
			t.Errorf("the log is %q", out)
		}
	}
}

func TestCommand(t *testing.T) {
	setEnvironment(t, "TRACEPARENT="+parent)
	ctx, none, err := StartCommand(context.Background(), "leasehold test", "v1")
	if err != nil || none != nil || len(Environment(ctx)) != 1 {
		t.Fatalf("StartCommand without an exporter = %v, %v; want only the trace", none, err)
	}
	store := memory.New()
	if none.Store(store, "memory") != leasehold.Store(store) {
		t.Error("the store is wrapped for nothing")
	}
	m, err := none.NewManager(store, "memory", nil)
	if err != nil {
		t.Fatal(err)
	}
	closeManager(t, m)
	none.End(0)

	r := receive(t, "grpc")
	t.Setenv("TRACEPARENT", parent)
	ctx, c, err := StartCommand(context.Background(), "leasehold test", "v1")
	if err != nil || c == nil {
		t.Fatalf("StartCommand = %v, %v", c, err)
	}
	if _, err := c.Store(store, "memory").Acquire(ctx, leasehold.AcquireRequest{Resource: "r", Holder: "h"}); err != nil {
		t.Error(err)
	}
	if m, err = c.NewManager(store, "memory", nil); err != nil {
		t.Fatal(err)
	}
	closeManager(t, m)
	if err := store.Close(); err != nil {
		t.Error(err)
	}
	c.End(3)
	spans := r.Spans()
	i := slices.IndexFunc(spans, func(s otlptest.Span) bool { return s.Name == "leasehold test" })
	if i < 0 || spans[i].Parent != "b7ad6b7169203331" || !spans[i].Failed || spans[i].Attributes["process.exit.code"] != "3" {
		t.Fatalf("the spans are %+v", spans)
	}
	if !slices.ContainsFunc(spans, func(s otlptest.Span) bool { return s.Name == "Lease.TryAcquire" && s.Parent == spans[i].ID }) {
		t.Errorf("the spans are %+v, want an acquisition below the command", spans)
	}
	t.Setenv("OTEL_TRACES_SAMPLER", "nonsense")
	if _, c, err := StartCommand(context.Background(), "leasehold test", "v1"); !errors.Is(err, ErrEnvironment) || c != nil {
		t.Errorf("StartCommand = %v, %v, want an error", c, err)
	}
}

func closeManager(t *testing.T, m *leasehold.Manager) {
	t.Helper()
	if err := m.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// OpenMetrics is there for scrapers that prefer it.
func TestPageFormats(t *testing.T) {
	clearEnvironment(t)
	server := httptest.NewServer(start(t, Options{Page: true}).Page())
	defer server.Close()
	for accept, want := range map[string]string{"": "text/plain", "application/openmetrics-text;version=1.0.0": "application/openmetrics-text"} {
		r, err := http.NewRequest("GET", server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", accept)
		answer, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		if got := answer.Header.Get("Content-Type"); !strings.HasPrefix(got, want) {
			t.Errorf("Accept %q gets %q, want %s", accept, got, want)
		}
	}
}
