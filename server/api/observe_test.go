package api

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold/leasehold/store/memory"
	"github.com/leasehold/leasehold/wire"
)

// recorder is an Observer that remembers what it saw.
type recorder struct {
	mu      sync.Mutex
	open    int // started and not ended
	started []Observed
	ended   []string // route, status, code and what was special
	checks  []string
	waits   []time.Duration
}

type observedKey struct{}

func (r *recorder) Started(ctx context.Context, o Observed) context.Context {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open++
	r.started = append(r.started, o)
	return context.WithValue(ctx, observedKey{}, o.Route)
}

func (r *recorder) Ended(ctx context.Context, o Observed, out Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open--
	line := fmt.Sprintf("%s %d %s", o.Route, out.Status, out.Code)
	for word, is := range map[string]bool{" batched": o.Batched, " waited": out.Waited, " long": out.Long, " lost its context": ctx.Value(observedKey{}) != o.Route} {
		if is {
			line += word
		}
	}
	if out.Waited {
		r.waits = append(r.waits, out.Duration)
	}
	r.ended = append(r.ended, line)
}

func (r *recorder) Checked(check, status string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.checks = append(r.checks, check+" "+status)
}

// seen returns what ended, sorted: operations of a batch have no order.
func (r *recorder) seen() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(slices.Values(r.ended))
}

func TestObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		d := newDriver(t, nil, &Options{Observer: r})
		_, client := d.listen()
		g := d.acquire("a", "somebody")
		d.post("/v1/leases/acquire", wire.AcquireRequest{Resource: "a", Holder: "b"})
		d.send("GET", "/nowhere", "")
		p := d.startAcquire(client, `{"resource":"a","holder":"b","blocking":true}`)
		w := d.watch(client, "", "")
		if d.server.Waiters() != 1 || d.server.Streams() != 1 {
			t.Errorf("%d waiters and %d streams, want one of each", d.server.Waiters(), d.server.Streams())
		}
		time.Sleep(2 * time.Second)
		d.release(g.LeaseID)
		p.reply()
		w.cancel()
		synctest.Wait()
		want := []string{
			"GET /v1/events 200  long", "POST /v1/leases/acquire 201 ", "POST /v1/leases/acquire 201  waited",
			"POST /v1/leases/acquire 409 lease_held", "POST /v1/leases/release 200 ", "none 404 not_found",
		}
		if diff := cmp.Diff(want, r.seen()); diff != "" {
			t.Errorf("the observer saw (-want +got):\n%s", diff)
		}
		if len(r.waits) != 1 || r.waits[0] < 2*time.Second || r.waits[0] > 3*time.Second {
			t.Errorf("waits = %v, want one of 2 s", r.waits)
		}
		if d.server.Waiters() != 0 || d.server.Streams() != 0 || r.open != 0 {
			t.Errorf("%d waiters, %d streams, %d operations left, want none", d.server.Waiters(), d.server.Streams(), r.open)
		}
		r.ended = nil
		d.batch(op("acquire", `{"resource":"b","holder":"x"}`), op("acquire", `{"resource":"b","holder":"y","blocking":true}`))
		want = []string{"POST /v1/leases/acquire 201  batched", "POST /v1/leases/acquire 400 invalid_argument batched", "POST /v1/leases/batch 200 "}
		if diff := cmp.Diff(want, r.seen()); diff != "" {
			t.Errorf("the observer saw of a batch (-want +got):\n%s", diff)
		}
	})
}

// A panic that cuts off the answer ends the operation for the observer, too.
func TestObserverPanic(t *testing.T) {
	r := &recorder{}
	d := newDriver(t, nil, &Options{Observer: r, Metrics: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })})
	func() {
		defer func() {
			if p := recover(); p != http.ErrAbortHandler {
				t.Errorf("the handler's panic is %v, want it passed on", p)
			}
		}()
		d.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/metrics", nil))
	}()
	if r.open != 0 || len(r.ended) != 1 {
		t.Errorf("after the panic %d operations are open and %d ended, want 0 and 1", r.open, len(r.ended))
	}
}

func TestTraceContext(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	long := strings.Repeat("x", 4096)
	cases := []struct {
		name                string
		traceparent, state  string
		wantParent, wantAll string
	}{
		{"both", parent, "a=1", parent, "a=1"},
		{"parent only", parent, "", parent, ""},
		{"none", "", "", "", ""},
		{"nonsense is the observer's to refuse", "nonsense", "=,=", "nonsense", "=,="},
		{"a parent that is too long", long, "a=1", "", ""},
		{"a state that is too long", parent, long, parent, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := &recorder{}
			d := newDriver(t, nil, &Options{Observer: r})
			request := httptest.NewRequest("GET", "/healthz", nil)
			request.Header.Set("traceparent", c.traceparent)
			request.Header.Set("tracestate", c.state)
			d.sendRequest(request)
			d.batch(fmt.Sprintf(`{"op":"acquire","request":{"resource":"r","holder":"a"},"traceparent":%q,"tracestate":%q}`, c.traceparent, c.state))
			want := []Trace{{c.wantParent, c.wantAll}, {}, {c.wantParent, c.wantAll}} // the batch has no header
			for i, o := range r.started {
				if o.Trace != want[i] {
					t.Errorf("%s: trace %+v, want %+v", o.Route, o.Trace, want[i])
				}
			}
			if len(r.started) != len(want) {
				t.Errorf("%d operations, want %d", len(r.started), len(want))
			}
		})
	}
}

// Whatever a trace context is, the operation is carried out.
func TestTraceContextOfOtherTypes(t *testing.T) {
	for _, value := range []string{`5`, `null`, `{"a":[]}`, `[1]`, `true`, `"\ud800"`, `""`} {
		d := newDriver(t, nil, &Options{Observer: &recorder{}})
		for _, r := range d.batch(`{"op":"acquire","request":{"resource":"r","holder":"a"},"traceparent":` + value + `,"tracestate":` + value + `}`) {
			want[wire.Grant](r, http.StatusCreated)
		}
	}
}

// The page of metrics is the handler's, with the headers and the limits of every
// other answer.
func TestMetricsPage(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", r.Header.Get("Accept"))
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, "up 1\n")
	})
	d := newDriver(t, nil, &Options{Metrics: handler})
	r := httptest.NewRequest("GET", "/metrics", nil)
	r.Header.Set("Accept", "application/openmetrics-text")
	got := d.sendRequest(r)
	if got.status != http.StatusAccepted || string(got.body) != "up 1\n" || got.header.Get("Content-Type") != "application/openmetrics-text" ||
		got.header.Get("Content-Length") != "5" || got.header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("GET /metrics = %d %v %q, want the handler's answer", got.status, got.header, got.body)
	}
	newDriver(t, nil, nil).send("GET", "/metrics", "").wantProblem(http.StatusNotImplemented, "unsupported")
}

func TestCodes(t *testing.T) {
	if all := Codes(); len(all) != len(codes) || !slices.Contains(all, codePath) || !slices.Contains(all, "lease_held") {
		t.Errorf("Codes() = %v, want all of them", all)
	}
}

// What becomes of leases is logged at Info: with resource, holder, token and
// caller, and never with the lease id.
func TestLeaseLog(t *testing.T) {
	d := newDriver(t, nil, nil)
	g := d.acquire("deploy:prod", "ci:1")
	d.post("/v1/leases/acquire", wire.AcquireRequest{Resource: "deploy:prod", Holder: "ci:2"})
	d.post("/v1/leases/renew", wire.RenewRequest{LeaseID: g.LeaseID})
	d.release(g.LeaseID)
	token := fmt.Sprintf("token=%d", g.Token)
	for _, line := range [][]string{
		{"level=INFO", "msg=acquired", "resource=deploy:prod", "holder=ci:1", token, "took=", "caller=local"},
		{"level=INFO", "msg=conflict", "resource=deploy:prod", "holder=ci:2", "held_by=ci:1", token, "code=lease_held", "caller=local"},
		{"level=DEBUG", "msg=renewed", "resource=deploy:prod", "holder=ci:1", token},
		{"level=INFO", "msg=released", "resource=deploy:prod", "holder=ci:1", token, "took=", "caller=local"},
	} {
		if !slices.ContainsFunc(strings.Split(d.log.String(), "\n"), func(l string) bool {
			return !slices.ContainsFunc(line, func(part string) bool { return !strings.Contains(l, part) })
		}) {
			t.Errorf("the log has no line with %v:\n%s", line, d.log)
		}
	}
	if strings.Contains(d.log.String(), g.LeaseID) {
		t.Errorf("the log has the lease id:\n%s", d.log)
	}
}

// A check that fails says why, of which store, and when.
func TestHealthReport(t *testing.T) {
	r := &recorder{}
	o := Options{Observer: r}
	o.Health.Store, o.Health.Timeout = "kind", 50*time.Millisecond
	before := time.Now().Add(-time.Second)
	d := newDriver(t, unreleasing{memory.New()}, &o)
	h := want[Health](d.send("GET", "/health/leasing", ""), http.StatusOK)
	if h.Status != "degraded" || h.Reason == "" || h.Store != "kind" || h.Time.Before(before) || h.Time.After(time.Now()) {
		t.Errorf("leasing = %+v, want degraded with reason, store and time", h)
	}
	want[Health](d.send("GET", "/health/ready", ""), http.StatusOK)
	if diff := cmp.Diff([]string{"leasing degraded", "ready healthy"}, r.checks); diff != "" {
		t.Errorf("the observer saw checks (-want +got):\n%s", diff)
	}
}
