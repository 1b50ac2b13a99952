//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/observe/otlptest"
	"github.com/leasehold/leasehold/store/remote"
	"github.com/leasehold/leasehold/test/process"
)

// observedServer is a server in a process of its own.
type observedServer struct {
	*process.Process
	t          *testing.T
	json, blob string // URLs
	store      *remote.Store

	mu  sync.Mutex
	ids []string // of leases, which nothing may show
}

func startObserved(t *testing.T, env []string, flags ...string) *observedServer {
	t.Helper()
	p := startProgram(t, env, append([]string{"serve", "--listen", "127.0.0.1:0", "--in-memory"}, flags...)...)
	p.AwaitOutput("Blob API")
	s := &observedServer{Process: p, t: t}
	lines := strings.Split(p.Stdout(), "\n")
	s.json, s.blob = process.ServerURL(lines[0]), strings.TrimSpace(strings.TrimPrefix(lines[1], "Blob API"))
	store, err := remote.Open(s.json, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	s.store = store
	return s
}

// startProgram runs leasehold with more variables in its environment.
func startProgram(t *testing.T, env []string, args ...string) *process.Process {
	t.Helper()
	path, err := exec.LookPath("leasehold")
	if err != nil {
		t.Fatal(err)
	}
	return process.Start(t, exec.Command(path, args...), func(c *exec.Cmd) { c.Env = append(c.Env, env...) })
}

// stop ends the server, which exports what is left.
func (s *observedServer) stop() {
	s.t.Helper()
	s.Signal(syscall.SIGTERM)
	s.CheckCode(0)
}

func (s *observedServer) acquire(resource string) leasehold.Grant {
	s.t.Helper()
	g, err := s.store.Acquire(s.t.Context(), leasehold.AcquireRequest{Resource: resource, Holder: "tester", TTL: time.Minute})
	if err != nil {
		s.t.Fatalf("Acquire(%q) = %v", resource, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids = append(s.ids, g.ID.Reveal())
	return g
}

func (s *observedServer) release(g leasehold.Grant) {
	s.t.Helper()
	if _, err := s.store.Release(s.t.Context(), leasehold.ReleaseRequest{ID: g.ID, Resource: g.Resource}); err != nil {
		s.t.Fatalf("Release(%q) = %v", g.Resource, err)
	}
}

func (s *observedServer) get(url string) (int, string) {
	s.t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// metrics returns the value of each series, of histograms the count, as
// name{label="value",…} with sorted labels.
func (s *observedServer) metrics() map[string]float64 {
	s.t.Helper()
	status, page := s.get(s.json + "/metrics")
	if status != http.StatusOK {
		s.t.Fatalf("GET /metrics = %d %s", status, page)
	}
	s.checkSecrets("/metrics", page)
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(page))
	if err != nil {
		s.t.Fatalf("/metrics cannot be parsed: %v", err)
	}
	series := map[string]float64{}
	for name, f := range families {
		for _, m := range f.Metric {
			series[name+labelsOf(m)] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + m.GetUntyped().GetValue() + float64(m.GetHistogram().GetSampleCount()) + float64(m.GetSummary().GetSampleCount())
		}
	}
	return series
}

func labelsOf(m *dto.Metric) string {
	var all []string
	for _, l := range m.Label {
		all = append(all, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
	}
	if len(all) == 0 {
		return ""
	}
	slices.Sort(all)
	return "{" + strings.Join(all, ",") + "}"
}

// checkSecrets checks that a text has no lease id.
func (s *observedServer) checkSecrets(where, text string) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range s.ids {
		if strings.Contains(text, id) {
			s.t.Fatalf("%s has the lease id %s", where, id)
		}
	}
}

// Every operation and every failure changes the metrics that it should, by one.
func TestMetricsOfServer(t *testing.T) {
	t.Parallel()
	s := startObserved(t, nil, "--health-name", "__healthcheck__:mine")
	first := s.acquire("first")
	begin := s.metrics()
	for name, value := range map[string]float64{
		`leasehold_waiters`: 0, `leasehold_event_streams`: 0, `leasehold_leases`: 1, `leasehold_queue_length`: 0,
		`leasing_leases_lost_total{provider="sqlite",result="lost"}`: 0, `leasehold_refusals_total{code="lease_held"}`: 0,
		`leasehold_commit_failures_total`: 0, `leasing_active_leases_current{provider="sqlite"}`: 1,
	} {
		if got, ok := begin[name]; !ok || got != value {
			t.Errorf("at the start %s = %v (there: %v), want %v", name, got, ok, value)
		}
	}
	for _, prefix := range []string{"leasehold_build_info{", "go_goroutines", "process_open_fds", "target_info{"} {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(begin)), func(k string) bool { return strings.HasPrefix(k, prefix) }) {
			t.Errorf("/metrics lacks %s", prefix)
		}
	}
	changes := s.changes
	changes("acquire", func() { s.release(s.acquire("a")) }, map[string]float64{
		`leasehold_http_requests_total{code="201",route="POST /v1/leases/acquire"}`:                          1,
		`leasehold_http_requests_total{code="200",route="POST /v1/leases/release"}`:                          1,
		`leasehold_http_request_duration_seconds{route="POST /v1/leases/acquire"}`:                           1,
		`leasing_acquisitions_total{provider="sqlite",result="success"}`:                                     1,
		`leasing_acquisitions_succeeded_total{provider="sqlite",result="success"}`:                           1,
		`leasing_acquisition_duration_milliseconds{provider="sqlite",result="success"}`:                      1,
		`leasing_releases_total{provider="sqlite",result="success"}`:                                         1,
		`leasehold_store_operation_duration_seconds{operation="release",provider="sqlite",result="success"}`: 1,
		`leasehold_leases`: 0,
	})
	changes("conflict", func() { s.refused("first") }, map[string]float64{
		`leasehold_http_requests_total{code="409",route="POST /v1/leases/acquire"}`: 1,
		`leasehold_refusals_total{code="lease_held"}`:                               1,
		`leasing_acquisitions_failed_total{provider="sqlite",result="conflict"}`:    1,
		`leasing_acquisitions_succeeded_total{provider="sqlite",result="success"}`:  0,
	})
	changes("renewal", func() {
		if _, err := s.store.Renew(t.Context(), leasehold.RenewRequest{ID: first.ID, Resource: "first"}); err != nil {
			t.Fatal(err)
		}
	}, map[string]float64{
		`leasehold_http_requests_total{code="200",route="POST /v1/leases/renew"}`:   1,
		`leasing_renewals_succeeded_total{provider="sqlite",result="success"}`:      1,
		`leasing_renewal_duration_milliseconds{provider="sqlite",result="success"}`: 1,
	})
	changes("a lost lease", func() {
		g := s.acquire("b")
		s.release(g)
		if _, err := s.store.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID, Resource: "b"}); err == nil {
			t.Error("a released lease was renewed")
		}
	}, map[string]float64{
		`leasehold_refusals_total{code="lease_released"}`:                1,
		`leasing_renewals_failed_total{provider="sqlite",result="lost"}`: 1,
	})
	changes("a wrong path", func() { s.get(s.json + "/nowhere") }, map[string]float64{
		`leasehold_http_requests_total{code="404",route="none"}`: 1, `leasehold_refusals_total{code="not_found"}`: 1,
	})
	changes("a request that does not reach the API", func() {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.json+"/v1/leases", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = "another.example"
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
	}, map[string]float64{
		`leasehold_http_requests_total{code="403",route="none"}`: 1, `leasehold_refusals_total{code="forbidden"}`: 1,
	})
	changes("health", func() {
		if status, body := s.get(s.json + "/health/leasing"); status != http.StatusOK || !strings.Contains(body, `"store":"sqlite"`) {
			t.Errorf("leasing = %d %s", status, body)
		}
	}, map[string]float64{
		`leasehold_http_requests_total{code="200",route="GET /health/leasing"}`: 1,
		`leasehold_health_status{check="leasing",status="healthy"}`:             1,
		`leasehold_health_status{check="leasing",status="unhealthy"}`:           0,
	})
	changes("a blob request", func() { s.get(s.blob + "/devstoreaccount1/abc?restype=container") }, map[string]float64{
		`leasehold_blob_requests_total{code="404",operation="GetContainerProperties"}`: 1,
		`leasehold_blob_request_duration_seconds{operation="GetContainerProperties"}`:  1,
	})
	changes("a wait", func() { s.block(first) }, map[string]float64{
		`leasehold_acquire_wait_seconds`: 1, `leasing_acquisition_wait_milliseconds{provider="sqlite",result="success"}`: 1,
		`leasehold_waiters`: 0, `leasehold_queue_length`: 0,
	})
	if got := s.metrics(); got[`leasehold_commit_duration_seconds`] < 5 || got[`leasehold_commit_batch_size`] < 5 || got[`leasehold_database_size_bytes`] == 0 ||
		got[`leasehold_history_records`] == 0 || got[`leasehold_disk_free_bytes`] == 0 {
		t.Errorf("the figures of the engine are missing: %v", got)
	}
	s.stop()
	s.checkSecrets("standard error", s.Stderr())
}

// changes checks how much each series grows by what f does.
func (s *observedServer) changes(what string, f func(), want map[string]float64) {
	s.t.Helper()
	before := s.metrics()
	f()
	var after map[string]float64
	for name, change := range want { // a request is counted after its answer
		process.Eventually(s.t, fmt.Sprintf("%s: %s to change by %v", what, name, change), func() bool {
			after = s.metrics()
			return after[name]-before[name] == change
		})
	}
}

func (s *observedServer) refused(resource string) {
	s.t.Helper()
	if _, err := s.store.Acquire(s.t.Context(), leasehold.AcquireRequest{Resource: resource, Holder: "other"}); leasehold.ReasonOf(err) != leasehold.ReasonHeld {
		s.t.Fatalf("Acquire(%q) = %v, want held", resource, err)
	}
}

// block waits for a lease that is held, and releases it meanwhile.
func (s *observedServer) block(held leasehold.Grant) {
	s.t.Helper()
	done := make(chan error, 1)
	go func() {
		_, err := s.store.Wait(context.Background(), leasehold.AcquireRequest{Resource: held.Resource, Holder: "waiter", Timeout: process.Timeout})
		done <- err
	}()
	process.Eventually(s.t, "a waiter", func() bool {
		return s.metrics()[`leasehold_waiters`] == 1 && s.metrics()[`leasehold_queue_length`] == 1
	})
	s.release(held)
	if err := <-done; err != nil {
		s.t.Errorf("Wait = %v", err)
	}
}

// Names of resources and holders add no series.
func TestSeriesDoNotGrow(t *testing.T) {
	t.Parallel()
	s := startObserved(t, nil)
	pair := func(i int) {
		g, err := s.store.Acquire(t.Context(), leasehold.AcquireRequest{Resource: fmt.Sprint("r-", i), Holder: fmt.Sprint("h-", i)})
		if err == nil {
			_, err = s.store.Release(t.Context(), leasehold.ReleaseRequest{ID: g.ID, Resource: g.Resource})
		}
		if err != nil {
			t.Errorf("pair %d: %v", i, err)
		}
	}
	all := func(from, to int) {
		var running sync.WaitGroup
		next := make(chan int)
		for range 64 {
			running.Go(func() {
				for i := range next {
					pair(i)
				}
			})
		}
		for i := from; i < to; i++ {
			next <- i
		}
		close(next)
		running.Wait()
	}
	names := func() []string {
		s.metrics() // counts itself
		return slices.Sorted(maps.Keys(s.metrics()))
	}
	all(0, 200) // so that batches have been sent
	before := names()
	all(200, 10_200)
	after := names()
	if added := slices.DeleteFunc(after, func(n string) bool { _, found := slices.BinarySearch(before, n); return found }); len(added) > 0 {
		t.Errorf("10,000 resources and holders added %d series to %d: %v", len(added), len(before), added)
	}
	if got := s.metrics()[`leasing_acquisitions_succeeded_total{provider="sqlite",result="success"}`]; got != 10_200 {
		t.Errorf("%v acquisitions were counted, want 10,200", got)
	}
}

const otlpSecret = "s3cret-of-the-collector"

// otlp returns a receiver, and the variables that make a program export to it.
func otlp(t *testing.T, protocol string) (*otlptest.Receiver, []string) {
	t.Helper()
	r, err := otlptest.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	endpoint := r.HTTP
	if protocol == "grpc" {
		endpoint = r.GRPC
	}
	return r, []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL=" + protocol,
		"OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20" + otlpSecret,
		"OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=test,cloud.region=north,k8s.pod.name=pod-1",
		"OTEL_BSP_SCHEDULE_DELAY=50", "OTEL_BLRP_SCHEDULE_DELAY=50", "OTEL_METRIC_EXPORT_INTERVAL=100",
	}
}

// A blocked acquire is one trace: command, client, server, store. Its logs and
// metrics arrive as well, and nothing has a lease id or the collector's secret.
func TestOTLP(t *testing.T) {
	for _, protocol := range []string{"grpc", "http/protobuf"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			r, env := otlp(t, protocol)
			s := startObserved(t, env)
			held := s.acquire("deploy:prod")
			s.refused("deploy:prod")
			const outer, outerSpan = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
			client := startProgram(t, append(env, "TRACEPARENT=00-"+outer+"-"+outerSpan+"-01", "LEASEHOLD_STORE="+s.json),
				"acquire", "deploy:prod", "--wait", "60", "--holder", "waiter")
			process.Eventually(t, "the client to wait", func() bool { return s.metrics()[`leasehold_waiters`] == 1 })
			s.release(held)
			client.CheckCode(0)
			id := exported.FindAllStringSubmatch(client.Stdout(), -1)
			for _, pair := range id {
				if pair[1] == "LEASEHOLD_LEASE_ID" {
					s.ids = append(s.ids, pair[2])
				}
			}
			if len(s.ids) != 2 {
				t.Fatalf("the client printed no lease id: %s", client.Stdout())
			}
			s.stop()
			checkTrace(t, r, outer, outerSpan)
			checkOTLPMetrics(t, r)
			checkOTLPLogs(t, r, outer)
			for where, text := range map[string]string{"OTLP": r.Text(), "the server's log": s.Stderr(), "the client's standard error": client.Stderr()} {
				s.checkSecrets(where, text)
				if strings.Contains(text, otlpSecret) {
					t.Errorf("%s has the collector's secret", where)
				}
			}
			if !slices.Contains(r.Headers(), "authorization: Bearer "+otlpSecret) {
				t.Errorf("the collector got no header: %q", r.Headers())
			}
		})
	}
}

// checkTrace follows the trace from the outside in.
func checkTrace(t *testing.T, r *otlptest.Receiver, trace, parent string) {
	t.Helper()
	all := r.Spans()
	for _, want := range []struct{ name, kind, attribute, value string }{
		{"leasehold acquire", "internal", "process.exit.code", "0"},
		{"Lease.Acquire", "client", "lease.provider", "remote"},
		{"POST /v1/leases/acquire", "server", "http.route", "/v1/leases/acquire"},
		{"Lease.Acquire", "internal", "lease.provider", "sqlite"},
	} {
		i := slices.IndexFunc(all, func(s otlptest.Span) bool { return s.Trace == trace && s.Parent == parent && s.Name == want.name })
		if i < 0 {
			t.Fatalf("there is no span %s below %s in the trace: %+v", want.name, parent, all)
		}
		s := all[i]
		if s.Kind != want.kind || s.Attributes[want.attribute] != want.value || s.Failed || s.Scope != "github.com/leasehold/leasehold" || s.Version == "" {
			t.Errorf("below %s is %+v, want %+v", parent, s, want)
		}
		if s.Resource["service.name"] != "leasehold" || s.Resource["service.version"] == "" || s.Resource["deployment.environment.name"] != "test" ||
			s.Resource["cloud.region"] != "north" || s.Resource["k8s.pod.name"] != "pod-1" {
			t.Errorf("the resource of %s is %v", s.Name, s.Resource)
		}
		parent = s.ID
	}
	conflict := slices.IndexFunc(all, func(s otlptest.Span) bool { return s.Attributes["leasehold.code"] == "lease_held" })
	if conflict < 0 || all[conflict].Attributes["http.response.status_code"] != "409" || all[conflict].Failed {
		t.Errorf("there is no span of the conflict with its status")
	}
}

func checkOTLPMetrics(t *testing.T, r *otlptest.Receiver) {
	t.Helper()
	for _, want := range []struct {
		name, kind, unit string
		attributes       otlptest.Attributes
		value            float64 // -1: any
	}{
		{"leasehold.http.requests", "sum", "", otlptest.Attributes{"route": "POST /v1/leases/acquire", "code": "201"}, 2},
		{"leasehold.http.requests", "sum", "", otlptest.Attributes{"route": "POST /v1/leases/acquire", "code": "409"}, 1},
		{"leasehold.http.request.duration", "histogram", "s", otlptest.Attributes{"route": "POST /v1/leases/acquire"}, -1},
		{"leasehold.acquire.wait", "histogram", "s", otlptest.Attributes{}, -1},
		{"leasehold.refusals", "sum", "", otlptest.Attributes{"code": "lease_held"}, 1},
		{"leasehold.waiters", "gauge", "", otlptest.Attributes{}, 0},
		{"leasehold.commit.duration", "histogram", "s", otlptest.Attributes{}, -1},
		{"leasehold.database.size", "gauge", "By", otlptest.Attributes{}, -1},
		{"leasing.acquisitions.total", "sum", "", otlptest.Attributes{"provider": "sqlite", "result": "success"}, 2},
		{"leasing.acquisitions.total", "sum", "", otlptest.Attributes{"provider": "remote", "result": "success"}, 1},
		{"leasing.acquisitions.failed", "sum", "", otlptest.Attributes{"provider": "sqlite", "result": "conflict"}, 1},
		{"leasing.acquisition.wait", "histogram", "ms", otlptest.Attributes{"provider": "sqlite", "result": "success"}, -1},
	} {
		p, ok := r.Points(want.name)[fmt.Sprint(want.attributes)]
		if !ok || p.Kind != want.kind || p.Unit != want.unit && !strings.HasPrefix(p.Unit, "{") || want.value >= 0 && p.Value != want.value || want.value < 0 && p.Value <= 0 {
			t.Errorf("%s%v = %+v (there: %v), want %+v", want.name, want.attributes, p, ok, want)
		}
		if ok && p.Resource["deployment.environment.name"] != "test" {
			t.Errorf("%s has the resource %v", want.name, p.Resource)
		}
	}
}

func checkOTLPLogs(t *testing.T, r *otlptest.Receiver, trace string) {
	t.Helper()
	all := r.Logs()
	for _, want := range []otlptest.Record{
		{Body: "acquired", Trace: trace, Attributes: otlptest.Attributes{"resource": "deploy:prod", "holder": "waiter", "token": "2"}},
		{Body: "conflict", Attributes: otlptest.Attributes{"resource": "deploy:prod", "holder": "other", "held_by": "tester"}},
		{Body: "released", Attributes: otlptest.Attributes{"resource": "deploy:prod", "holder": "tester", "token": "1", "caller": "local"}},
	} {
		i := slices.IndexFunc(all, func(l otlptest.Record) bool {
			return l.Body == want.Body && (want.Trace == "" || l.Trace == want.Trace)
		})
		if i < 0 {
			t.Errorf("there is no record %q of the trace %q", want.Body, want.Trace)
			continue
		}
		for k, v := range want.Attributes {
			if all[i].Attributes[k] != v {
				t.Errorf("the record %q has %s = %q, want %q", want.Body, k, all[i].Attributes[k], v)
			}
		}
		if all[i].Severity != "INFO" || all[i].Span == "" || all[i].Resource["service.name"] != "leasehold" {
			t.Errorf("the record %q is %+v", want.Body, all[i])
		}
	}
}

// The operations of a batch are parts of their own traces, linked to the request
// that brought them. What is no trace context is ignored.
func TestTraceOfBatch(t *testing.T) {
	t.Parallel()
	r, env := otlp(t, "http/protobuf")
	s := startObserved(t, env)
	const one, two = "11111111111111111111111111111111", "22222222222222222222222222222222"
	operation := func(resource, trace string) string {
		return fmt.Sprintf(`{"op":"acquire","request":{"resource":%q,"holder":"h"},"traceparent":%q}`, resource, trace)
	}
	body := `{"operations":[` + strings.Join([]string{
		operation("a", "00-"+one+"-aaaaaaaaaaaaaaaa-01"), operation("b", "00-"+two+"-bbbbbbbbbbbbbbbb-01"),
		operation("c", "nonsense"), operation("d", strings.Repeat("0", 5000)),
	}, ",") + `]}`
	answer, err := http.Post(s.json+"/v1/leases/batch", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(answer.Body)
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK || strings.Count(string(text), `"status":201`) != 4 {
		t.Fatalf("the batch = %s %s", answer.Status, text)
	}
	s.stop()
	all := r.Spans()
	i := slices.IndexFunc(all, func(s otlptest.Span) bool { return s.Name == "POST /v1/leases/batch" })
	if i < 0 {
		t.Fatal("there is no span of the batch")
	}
	batch := all[i]
	below := 0
	for _, span := range all {
		if span.Name != "POST /v1/leases/acquire" {
			continue
		}
		if span.Kind != "server" || span.Attributes["leasehold.batched"] != "true" {
			t.Errorf("an operation is %+v", span)
		}
		switch span.Trace {
		case one, two:
			if span.Parent != strings.Repeat(map[string]string{one: "a", two: "b"}[span.Trace], 16) || !slices.Equal(span.Links, []string{batch.ID}) {
				t.Errorf("an operation is %+v, want the client's parent and a link to %s", span, batch.ID)
			}
		case batch.Trace:
			if below++; span.Parent != batch.ID || len(span.Links) > 0 {
				t.Errorf("an operation without a trace context is %+v, want it below the batch", span)
			}
		default:
			t.Errorf("an operation is in the trace %s", span.Trace)
		}
	}
	if below != 2 {
		t.Errorf("%d operations are below the batch, want 2", below)
	}
}

// leasehold run passes its trace on to the command: its own span if it exports
// spans, else the one that it was given.
func TestRunPassesTraceOn(t *testing.T) {
	t.Parallel()
	r, env := otlp(t, "grpc")
	s := startObserved(t, nil)
	const given = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	print := []string{"--store", s.json, "run", "r", "--", "sh", "-c", `echo "$TRACEPARENT"`}
	plain := startProgram(t, []string{"TRACEPARENT=" + given}, print...)
	plain.CheckCode(0)
	if got := strings.TrimSpace(plain.Stdout()); got != given {
		t.Errorf("without an exporter the command has %q, want %q", got, given)
	}
	if got := strings.TrimSpace(startedOutput(t, print)); got != "" {
		t.Errorf("without a trace the command has %q, want none", got)
	}
	traced := startProgram(t, append(env, "TRACEPARENT="+given), print...)
	traced.CheckCode(0)
	all := r.Spans()
	i := slices.IndexFunc(all, func(s otlptest.Span) bool { return s.Name == "leasehold run" })
	if i < 0 {
		t.Fatalf("there is no span of the run; %s", traced.Stderr())
	}
	if got, want := strings.TrimSpace(traced.Stdout()), fmt.Sprintf("00-%s-%s-01", all[i].Trace, all[i].ID); got != want || all[i].Trace != given[3:35] {
		t.Errorf("the command has %q, want %q in the trace %s", got, want, given)
	}
	if !slices.ContainsFunc(all, func(s otlptest.Span) bool {
		return s.Name == "Lease.TryAcquire" && s.Kind == "client" && s.Trace == given[3:35]
	}) {
		t.Errorf("the run has no span of its acquisition: %+v", all)
	}
}

func startedOutput(t *testing.T, args []string) string {
	p := startProgram(t, []string{"TRACEPARENT="}, args...)
	p.CheckCode(0)
	return p.Stdout()
}

// A wrong variable is an error at the start, without the secrets in it.
func TestWrongEnvironment(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ variable, says string }{
		"protocol": {"OTEL_EXPORTER_OTLP_PROTOCOL=smoke", `OTEL_EXPORTER_OTLP_PROTOCOL is "smoke"`},
		"headers":  {"OTEL_EXPORTER_OTLP_HEADERS=" + otlpSecret, "OTEL_EXPORTER_OTLP_HEADERS cannot be read"},
		"sampler":  {"OTEL_TRACES_SAMPLER=some", `OTEL_TRACES_SAMPLER is "some"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, args := range [][]string{{"serve", "--in-memory", "--listen", "127.0.0.1:0"}, {"--store", "memory:", "status", "r"}} {
				p := startProgram(t, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", c.variable}, args...)
				p.CheckCode(exitUsage)
				if !strings.Contains(p.Stderr(), c.says) || strings.Contains(p.Stderr(), otlpSecret) {
					t.Errorf("%v says %q, want %q and no secret", args, p.Stderr(), c.says)
				}
			}
		})
	}
}

// A collector that is not there, or refuses, delays nothing and is told of once in
// a while, without the header.
func TestCollectorGone(t *testing.T) {
	t.Parallel()
	r, env := otlp(t, "http/protobuf")
	s := startObserved(t, env)
	r.Refuse()
	s.release(s.acquire("r"))
	process.Eventually(t, "a line in the log", func() bool { return strings.Contains(s.Stderr(), "telemetry could not be exported") })
	s.release(s.acquire("r"))
	s.stop()
	if strings.Contains(s.Stderr(), otlpSecret) {
		t.Errorf("the log has the collector's secret: %s", s.Stderr())
	}
	client := startProgram(t, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_HEADERS=a=" + otlpSecret}, "--store", "memory:", "acquire", "r")
	client.CheckCode(0)
	if strings.Contains(client.Stderr(), otlpSecret) {
		t.Errorf("the client says %s", client.Stderr())
	}
}
