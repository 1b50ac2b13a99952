package api

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/leasehold/leasehold"
)

// metrics counts what the door does. Labels are routes and codes, both of
// which the program knows beforehand: nothing of a request, so the page cannot
// grow and names nobody's lease.
type metrics struct {
	routes   map[string]*routeMetrics
	refusals map[leasehold.Reason]*atomic.Uint64
	waits    *histogram
}

type routeMetrics struct {
	statuses [500]atomic.Uint64 // by status - 100
	took     *histogram
}

var (
	tookBounds = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5}
	waitBounds = []float64{.01, .1, .5, 1, 5, 15, 30, 60, 300, 1800, 7200}
)

func newMetrics(endpoints []*endpoint) *metrics {
	m := &metrics{
		routes:   map[string]*routeMetrics{"none": {took: newHistogram(tookBounds)}},
		refusals: map[leasehold.Reason]*atomic.Uint64{},
		waits:    newHistogram(waitBounds),
	}
	for _, e := range endpoints {
		m.routes[e.label()] = &routeMetrics{took: newHistogram(tookBounds)}
	}
	for _, code := range codes {
		m.refusals[code.Code] = new(atomic.Uint64)
	}
	return m
}

func (m *metrics) observe(c *call, took time.Duration) {
	route := m.routes[c.route()]
	if i := c.status - 100; i >= 0 && i < len(route.statuses) {
		route.statuses[i].Add(1)
	}
	if n := m.refusals[c.code]; n != nil {
		n.Add(1)
	}
	switch {
	case c.waited:
		m.waits.observe(took)
	case c.endpoint == nil || !c.endpoint.long:
		route.took.observe(took)
	}
}

// metricsPage serves GET /metrics in the text format of Prometheus.
func (s *Server) metricsPage() []byte {
	var b bytes.Buffer
	head := func(name, kind, help string) {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
	}
	head("leasehold_build_info", "gauge", "The version that runs.")
	fmt.Fprintf(&b, "leasehold_build_info{version=%s} 1\n", strconv.Quote(s.o.Version))
	head("leasehold_waiters", "gauge", "Requests that wait in a queue.")
	fmt.Fprintf(&b, "leasehold_waiters %d\n", s.waiters.size())
	head("leasehold_event_streams", "gauge", "Open event streams.")
	fmt.Fprintf(&b, "leasehold_event_streams %d\n", s.streams.size())
	head("leasehold_refusals_total", "counter", "Problem answers, by code.")
	for _, code := range codes {
		fmt.Fprintf(&b, "leasehold_refusals_total{code=%q} %d\n", code.Code, s.metrics.refusals[code.Code].Load())
	}
	labels := slices.Sorted(maps.Keys(s.metrics.routes))
	head("leasehold_http_requests_total", "counter", "Requests, by route and status. An operation of a batch counts like a request.")
	for _, label := range labels {
		s.metrics.routes[label].write(&b, label)
	}
	head("leasehold_http_request_duration_seconds", "histogram", "Time to answer, without requests that waited and streams.")
	for _, label := range labels {
		s.metrics.routes[label].took.write(&b, "leasehold_http_request_duration_seconds", fmt.Sprintf("route=%q", label))
	}
	head("leasehold_acquire_wait_seconds", "histogram", "Time from receipt to answer of requests that were let wait.")
	s.metrics.waits.write(&b, "leasehold_acquire_wait_seconds", "")
	return b.Bytes()
}

func (r *routeMetrics) write(b *bytes.Buffer, label string) {
	for i := range r.statuses {
		if n := r.statuses[i].Load(); n > 0 {
			fmt.Fprintf(b, "leasehold_http_requests_total{route=%q,code=\"%d\"} %d\n", label, i+100, n)
		}
	}
}
