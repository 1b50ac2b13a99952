package remote_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/remote"
	"github.com/leasehold/leasehold/wire"
)

type traceKey struct{}

// traced is a context with a trace context of its own.
func traced(ctx context.Context, parent, state string) context.Context {
	return context.WithValue(ctx, traceKey{}, [2]string{parent, state})
}

func traceOf(ctx context.Context) (parent, state string) {
	t, _ := ctx.Value(traceKey{}).([2]string)
	return t[0], t[1]
}

// traceLog remembers which trace contexts came with which resource.
type traceLog struct {
	next http.Handler
	old  bool // a server that knows no trace contexts of operations

	mu      sync.Mutex
	alone   map[string]string // "parent state" by resource
	batched map[string]string
	refused int
}

func (l *traceLog) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	var batch wire.BatchRequest
	_ = json.Unmarshal(body, &batch)
	l.mu.Lock()
	for _, o := range batch.Operations {
		if o.TraceParent != "" && l.old {
			l.refused++
			l.mu.Unlock()
			w.Header().Set("Content-Type", wire.ProblemType)
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"code":"invalid_argument","field":"operations[0].traceparent","status":400}`)
			return
		}
		l.batched[resourceOf(o.Request)] = o.TraceParent + " " + o.TraceState
	}
	if batch.Operations == nil {
		l.alone[resourceOf(body)] = r.Header.Get("Traceparent") + " " + r.Header.Get("Tracestate")
	}
	l.mu.Unlock()
	l.next.ServeHTTP(w, r)
}

func resourceOf(body []byte) string {
	var v struct{ Resource string }
	_ = json.Unmarshal(body, &v)
	return v.Resource
}

func startTraced(t *testing.T, old bool) (*traceLog, *remote.Store) {
	t.Helper()
	l := &traceLog{next: served(t), old: old, alone: map[string]string{}, batched: map[string]string{}}
	server := httptest.NewServer(l)
	t.Cleanup(server.Close)
	return l, open(t, server.URL, &remote.Options{Trace: traceOf})
}

const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// A trace context is sent with each call, those that wait and those that read too.
// What no header can have is left out, and the call is made all the same.
func TestTraceOfCall(t *testing.T) {
	l, s := startTraced(t, false)
	for i, c := range []struct{ parent, state, want string }{
		{traceparent, "a=1", traceparent + " a=1"},
		{traceparent, "", traceparent + " "},
		{"", "a=1", " "},
		{"bad\r\nX-Evil: 1", "a=1", " "},
		{strings.Repeat("0", 129), "", " "},
		{traceparent, strings.Repeat("a", 513), traceparent + " "},
		{traceparent, "a=\n", traceparent + " "},
	} {
		ctx := traced(t.Context(), c.parent, c.state)
		r := leasehold.AcquireRequest{Resource: fmt.Sprint("acquire-", i), Holder: "h"}
		if _, err := s.Acquire(ctx, r); err != nil {
			t.Fatal(err)
		}
		r.Resource = fmt.Sprint("wait-", i)
		if _, err := s.Wait(ctx, r); err != nil {
			t.Fatal(err)
		}
		for _, resource := range []string{fmt.Sprint("acquire-", i), r.Resource} {
			if got := l.alone[resource]; got != c.want {
				t.Errorf("%q, %q came with %s as %q, want %q", c.parent, c.state, resource, got, c.want)
			}
		}
	}
	if _, err := s.Status(traced(t.Context(), traceparent, "b=2"), "r"); err != nil || l.alone[""] != traceparent+" b=2" {
		t.Errorf("status = %v, and came as %q", err, l.alone[""])
	}
}

// acquireMany makes n calls at once, each with a trace of its own.
func acquireMany(t *testing.T, s *remote.Store, n int) {
	t.Helper()
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() {
			resource := fmt.Sprintf("r%02d", i)
			g, err := s.Acquire(traced(t.Context(), parentOf(i), "n="+resource), leasehold.AcquireRequest{Resource: resource, Holder: "h"})
			if err == nil {
				_, err = s.Release(t.Context(), leasehold.ReleaseRequest{ID: g.ID})
			}
			if err != nil {
				t.Errorf("%s: %v", resource, err)
			}
		})
	}
	running.Wait()
}

func parentOf(i int) string { return fmt.Sprintf("00-%032x-%016x-01", i+1, i+1) }

// Each operation of a batch has the trace context of its own call.
func TestTraceOfBatch(t *testing.T) {
	l, s := startTraced(t, false)
	for range 50 { // until batches were sent
		acquireMany(t, s, 40)
		if len(l.batched) > 2 {
			break
		}
	}
	seen := 0
	for i := range 40 {
		resource := fmt.Sprintf("r%02d", i)
		if got, ok := l.batched[resource]; ok {
			if seen++; got != parentOf(i)+" n="+resource {
				t.Errorf("%s came with %q, want its own trace", resource, got)
			}
		}
	}
	if seen == 0 {
		t.Error("no operation of a batch was seen")
	}
}

// A server that refuses batches with trace contexts gets the calls one by one, and
// then batches without.
func TestTraceOfBatchRefused(t *testing.T) {
	l, s := startTraced(t, true)
	for range 50 {
		acquireMany(t, s, 40)
		if l.refused > 0 && len(l.batched) > 2 {
			break
		}
	}
	if l.refused == 0 || len(l.batched) == 0 {
		t.Fatalf("%d batches were refused and %d operations accepted, want some", l.refused, len(l.batched))
	}
	for resource, got := range l.batched {
		if got != " " {
			t.Errorf("%s came with %q, want no trace", resource, got)
		}
	}
	before := l.refused
	acquireMany(t, s, 40)
	if l.refused != before {
		t.Errorf("%d more batches were refused, want none", l.refused-before)
	}
}
