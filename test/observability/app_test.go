//go:build unix

package observability

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	registry "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/chaos"
	"github.com/leasehold/leasehold/store/remote"
	"github.com/leasehold/leasehold/telemetry"
)

// app is a program that uses the library, with telemetry around its Manager: this
// process. Faults stand between the telemetry and the server.
type app struct {
	manager  *leasehold.Manager
	requests *recorder
	page     *httptest.Server

	mu     sync.Mutex
	fault  func(chaos.Call) chaos.Fault
	calls  map[chaos.Op]float64 // of the store
	events []leasehold.Event
}

func startApp(t *testing.T, server string) *app {
	t.Helper()
	a := &app{requests: newRecorder(), calls: map[chaos.Op]float64{}}
	t.Cleanup(a.requests.next.CloseIdleConnections)
	store, err := remote.Open(server, &remote.Options{HTTPClient: &http.Client{Transport: a.requests}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	pages := registry.NewRegistry()
	reader, err := exporter.New(exporter.WithRegisterer(pages), exporter.WithoutScopeInfo())
	if err != nil {
		t.Fatal(err)
	}
	told, err := telemetry.New(&telemetry.Options{MeterProvider: metric.NewMeterProvider(metric.WithReader(reader))})
	if err != nil {
		t.Fatal(err)
	}
	a.manager, err = told.NewManager(chaos.Wrap(store, &chaos.Options{Policy: a.policy}), "remote",
		&leasehold.Options{Holder: "app", TTL: 10 * time.Minute, Observe: a.observe})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.manager.Close(context.Background()) })
	a.page = httptest.NewServer(promhttp.HandlerFor(pages, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	t.Cleanup(a.page.Close)
	return a
}

func (a *app) addr() string { return addrOf(a.page.URL) }

func (a *app) policy(c chaos.Call) chaos.Fault {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls[c.Op]++
	if a.fault == nil {
		return chaos.Fault{}
	}
	return a.fault(c)
}

// inject has calls meet faults; nil ends it.
func (a *app) inject(fault func(chaos.Call) chaos.Fault) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fault = fault
}

func (a *app) observe(e leasehold.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.events = append(a.events, e)
}

// eventsOf counts the events of a resource that satisfy a condition.
func (a *app) eventsOf(resource string, is func(leasehold.Event) bool) (n float64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, e := range a.events {
		if (resource == "" || e.Info().Resource == resource) && is(e) {
			n++
		}
	}
	return n
}

func isRenewed(e leasehold.Event) bool { _, ok := e.(leasehold.Renewed); return ok }
func isLost(e leasehold.Event) bool    { _, ok := e.(leasehold.Lost); return ok }
func isFailed(e leasehold.Event) bool  { _, ok := e.(leasehold.RenewalFailed); return ok }
