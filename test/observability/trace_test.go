//go:build unix

package observability

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	"go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/chaos"
	"github.com/leasehold/leasehold/store/remote"
	"github.com/leasehold/leasehold/telemetry"
	"github.com/leasehold/leasehold/test/process"
)

// TestTraces makes the two traces that stand in docs/observability.md: those there
// are from a run of this test, and have the same spans, kinds, attributes and links.
func TestTraces(t *testing.T) {
	r := startReceiver(t)
	s := startServer(t, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="+r.url+"/v1/traces", "OTEL_BSP_SCHEDULE_DELAY=50")
	w := startWorker(t, s.url, r.url)
	document := read(t, "../../docs/observability.md")
	t.Run("blocked acquire", func(t *testing.T) {
		w.blockedAcquire(t)
		checkTrace(t, document, r.trace(t, "Lease.Acquire", "report", 3))
	})
	t.Run("lost lease", func(t *testing.T) {
		w.lostLease(t)
		checkTrace(t, document, r.trace(t, "Lease.Lost", "invoices", 4))
	})
}

// checkTrace looks for a trace like this in the document.
func checkTrace(t *testing.T, document, got string) {
	t.Helper()
	for _, block := range regexp.MustCompile("(?s)```text trace\n(.*?)```").FindAllStringSubmatch(document, -1) {
		if withoutRun(block[1]) == withoutRun(got) {
			return
		}
	}
	t.Errorf("docs/observability.md has no trace like this one, which is\n%s", got)
}

var (
	identity = regexp.MustCompile(`[0-9a-f]{32}|[0-9a-f]{16}`)
	number   = regexp.MustCompile(`\d+(\.\d+)?( ms| s|×)|lease\.(token|retry_count)=\d+|lease\.last_success=\S+`)
	spaces   = regexp.MustCompile(` +`)
)

// withoutRun removes what differs from run to run.
func withoutRun(text string) string {
	return spaces.ReplaceAllString(number.ReplaceAllString(identity.ReplaceAllString(text, "ID"), "N"), " ")
}

// receiver gets spans by OTLP.
type receiver struct {
	url string

	mu    sync.Mutex
	spans []*received
}

type received struct {
	*v1.Span
	service string
}

func startReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		var export collector.ExportTraceServiceRequest
		if err != nil || proto.Unmarshal(body, &export) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.add(&export)
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(s.Close)
	r.url = s.URL
	return r
}

func (r *receiver) add(export *collector.ExportTraceServiceRequest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, from := range export.ResourceSpans {
		service := attributesOf(from.Resource.Attributes)["service.name"]
		for _, scope := range from.ScopeSpans {
			for _, s := range scope.Spans {
				r.spans = append(r.spans, &received{s, service})
			}
		}
	}
}

// trace waits for the trace in which a span of this name is about a resource and
// which has n spans at least, and writes it as a tree.
func (r *receiver) trace(t *testing.T, name, lease string, n int) (text string) {
	t.Helper()
	eventually(t, "a trace with "+name, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, s := range r.spans {
			if s.Name != name || attributesOf(s.Attributes)["lease.name"] != lease || s.Kind != v1.Span_SPAN_KIND_CLIENT {
				continue
			}
			if all := r.sameTrace(s); len(all) >= n {
				text = writeTrace(all)
				return true
			}
		}
		return false
	})
	return text
}

func (r *receiver) sameTrace(of *received) (all []*received) {
	for _, s := range r.spans {
		if string(s.TraceId) == string(of.TraceId) {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b *received) int { return int(a.StartTimeUnixNano) - int(b.StartTimeUnixNano) })
	return all
}

func writeTrace(all []*received) string {
	var b strings.Builder
	fmt.Fprintf(&b, "trace %s\n", hex.EncodeToString(all[0].TraceId))
	known := map[string]bool{}
	for _, s := range all {
		known[string(s.SpanId)] = true
	}
	for _, s := range all {
		if !known[string(s.ParentSpanId)] {
			writeSpan(&b, all, s, 0)
		}
	}
	return b.String()
}

var kinds = map[v1.Span_SpanKind]string{v1.Span_SPAN_KIND_CLIENT: "client", v1.Span_SPAN_KIND_SERVER: "server", v1.Span_SPAN_KIND_INTERNAL: "internal"}

func writeSpan(b *strings.Builder, all []*received, s *received, depth int) {
	indent := strings.Repeat("  ", depth)
	took := time.Duration(s.EndTimeUnixNano - s.StartTimeUnixNano)
	fmt.Fprintf(b, "%-32s %-9s %-8s %s %8.1f ms\n", indent+s.Name, s.service, kinds[s.Kind], hex.EncodeToString(s.SpanId), float64(took)/1e6)
	attributes := attributesOf(s.Attributes)
	var words []string
	for _, key := range []string{"http.response.status_code", "lease.name", "lease.provider", "lease.result", "lease.failure_reason", "lease.token", "lease.retry_count", "lease.last_success"} {
		if v, ok := attributes[key]; ok {
			words = append(words, key+"="+v)
		}
	}
	fmt.Fprintf(b, "%s    %s\n", indent, strings.Join(words, " "))
	if n := len(s.Events); n > 0 {
		last := attributesOf(s.Events[n-1].Attributes)
		why := strings.TrimSuffix(last["lease.result"]+", "+last["lease.failure_reason"], ", ")
		fmt.Fprintf(b, "%s    %d× %s, the last: %s\n", indent, n, s.Events[n-1].Name, why)
	}
	for _, l := range s.Links {
		fmt.Fprintf(b, "%s    linked to span %s of trace %s\n", indent, hex.EncodeToString(l.SpanId), hex.EncodeToString(l.TraceId))
	}
	for _, child := range all {
		if string(child.ParentSpanId) == string(s.SpanId) {
			writeSpan(b, all, child, depth+1)
		}
	}
}

func attributesOf(pairs []*common.KeyValue) map[string]string {
	values := map[string]string{}
	for _, p := range pairs {
		switch v := p.Value.Value.(type) {
		case *common.AnyValue_StringValue:
			values[p.Key] = v.StringValue
		case *common.AnyValue_IntValue:
			values[p.Key] = fmt.Sprint(v.IntValue)
		case *common.AnyValue_DoubleValue:
			values[p.Key] = fmt.Sprint(v.DoubleValue)
		}
	}
	return values
}

// worker is a program whose spans go to the receiver.
type worker struct {
	manager *leasehold.Manager
	fault   func(chaos.Call) chaos.Fault
	mu      sync.Mutex
	lost    chan leasehold.Event
}

func startWorker(t *testing.T, server, receiver string) *worker {
	t.Helper()
	exporter, err := otlptracehttp.New(t.Context(), otlptracehttp.WithEndpointURL(receiver+"/v1/traces"))
	if err != nil {
		t.Fatal(err)
	}
	tracers := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter), sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", "worker"))))
	t.Cleanup(func() { _ = tracers.Shutdown(context.Background()) })
	told, err := telemetry.New(&telemetry.Options{TracerProvider: tracers, MeterProvider: noop.NewMeterProvider()})
	if err != nil {
		t.Fatal(err)
	}
	store, err := remote.Open(server, &remote.Options{Trace: telemetry.TraceContext})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	w := &worker{lost: make(chan leasehold.Event, 1)}
	w.manager, err = told.NewManager(chaos.Wrap(store, &chaos.Options{Policy: w.policy}), "remote", &leasehold.Options{Observe: w.observe})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.manager.Close(context.Background()) })
	return w
}

func (w *worker) policy(c chaos.Call) chaos.Fault {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fault == nil {
		return chaos.Fault{}
	}
	return w.fault(c)
}

func (w *worker) observe(e leasehold.Event) {
	if isLost(e) {
		w.lost <- e
	}
}

// blockedAcquire waits for a lease that another holder has.
func (w *worker) blockedAcquire(t *testing.T) {
	t.Helper()
	first, err := w.manager.TryAcquire(t.Context(), "report")
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(300*time.Millisecond, func() { _ = first.Release(context.Background()) })
	if _, err := w.manager.Acquire(t.Context(), "report"); err != nil {
		t.Fatal(err)
	}
}

// lostLease loses a lease because no renewal reaches the store.
func (w *worker) lostLease(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	w.fault = func(c chaos.Call) chaos.Fault { return only(c, chaos.OpRenew, chaos.Unavailable) }
	w.mu.Unlock()
	if _, err := w.manager.TryAcquire(t.Context(), "invoices", leasehold.AcquireOptions{TTL: 2 * time.Second}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-w.lost:
	case <-time.After(process.Timeout):
		t.Fatal("the lease is not lost")
	}
}
