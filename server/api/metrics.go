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

// metrics counts what the API does. Labels are routes and codes, which are known
// beforehand, and nothing of a request: so the page cannot grow and names no
// lease.
type metrics struct {
	routes   map[string]*routeMetrics
	refusals map[leasehold.Reason]*atomic.Uint64
	waits    *histogram
}

type routeMetrics struct {
	statuses [500]atomic.Uint64 // by status - 100
	duration *histogram
}

var (
	durationBounds = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5}
	waitBounds     = []float64{.01, .1, .5, 1, 5, 15, 30, 60, 300, 1800, 7200}
)

func newMetrics(endpoints []*endpoint) *metrics {
	m := &metrics{
		routes:   map[string]*routeMetrics{"none": {duration: newHistogram(durationBounds)}},
		refusals: map[leasehold.Reason]*atomic.Uint64{},
		waits:    newHistogram(waitBounds),
	}
	for _, e := range endpoints {
		m.routes[e.Label()] = &routeMetrics{duration: newHistogram(durationBounds)}
	}
	for _, code := range codes {
		m.refusals[code.Code] = new(atomic.Uint64)
	}
	return m
}

func (m *metrics) observe(c *call, duration time.Duration) {
	route := m.routes[c.route()]
	if i := c.status - 100; i >= 0 && i < len(route.statuses) {
		route.statuses[i].Add(1)
	}
	if n := m.refusals[c.code]; n != nil {
		n.Add(1)
	}
	switch {
	case c.waited:
		m.waits.observe(duration)
	case c.endpoint == nil || !c.endpoint.Long:
		route.duration.observe(duration)
	}
}

// metricsPage serves GET /metrics in the text format of Prometheus.
func metricsPage(s *Server) []byte {
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
		s.metrics.routes[label].duration.write(&b, "leasehold_http_request_duration_seconds", fmt.Sprintf("route=%q", label))
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

// histogram counts durations by upper bounds. Counting takes no lock.
type histogram struct {
	bounds  []float64 // seconds, growing
	buckets []atomic.Uint64
	nanos   atomic.Int64
}

func newHistogram(bounds []float64) *histogram {
	return &histogram{bounds: bounds, buckets: make([]atomic.Uint64, len(bounds)+1)}
}

func (h *histogram) observe(d time.Duration) {
	i := 0
	for i < len(h.bounds) && d.Seconds() > h.bounds[i] {
		i++
	}
	h.buckets[i].Add(1)
	h.nanos.Add(int64(d))
}

// write prints the histogram, unless nothing was ever counted.
func (h *histogram) write(b *bytes.Buffer, name, label string) {
	counts := make([]uint64, len(h.buckets))
	total := uint64(0)
	for i := range h.buckets {
		total += h.buckets[i].Load()
		counts[i] = total
	}
	if total == 0 {
		return
	}
	comma, braced := "", ""
	if label != "" {
		comma, braced = label+",", "{"+label+"}"
	}
	for i, n := range counts {
		bound := "+Inf"
		if i < len(h.bounds) {
			bound = strconv.FormatFloat(h.bounds[i], 'g', -1, 64)
		}
		fmt.Fprintf(b, "%s_bucket{%sle=%q} %d\n", name, comma, bound, n)
	}
	fmt.Fprintf(b, "%s_sum%s %g\n%s_count%s %d\n", name, braced, time.Duration(h.nanos.Load()).Seconds(), name, braced, total)
}
