package telemetry

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/metric"
)

// instruments are the metrics. Their names are the contract.
type instruments struct {
	counters []counter

	acquisitionDuration, renewalDuration, acquisitionWait metric.Float64Histogram // ms
	leaseDuration, operationDuration                      metric.Float64Histogram // s

	active, waiters metric.Int64ObservableGauge
	sinceRenewal    metric.Float64ObservableGauge
}

// Bounds of the histograms. Those of the objectives, 500 ms and 1 s, are among
// them.
var (
	callBounds  = []float64{0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000}                           // ms
	waitBounds  = []float64{1, 10, 50, 100, 500, 1000, 5000, 10000, 30000, 60000, 300000, 900000, 3600000}                           // ms
	storeBounds = []float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60} // s
	leaseBounds = []float64{0.1, 1, 5, 15, 30, 60, 300, 900, 3600, 6 * 3600, 24 * 3600, 7 * 24 * 3600}                               // s
)

func newInstruments(m metric.Meter, dynamic bool) (*instruments, error) {
	var errs []error
	histogram := func(name, unit, text string, bounds []float64) metric.Float64Histogram {
		h, err := m.Float64Histogram(name, metric.WithUnit(unit), metric.WithDescription(text), metric.WithExplicitBucketBoundaries(bounds...))
		errs = append(errs, err)
		return h
	}
	gauge := func(name, unit, text string) metric.Int64ObservableGauge {
		g, err := m.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(text))
		errs = append(errs, err)
		return g
	}
	i := &instruments{
		acquisitionDuration: histogram("leasing.acquisition.duration", "ms", "Time of an acquisition's last request, without the wait in a queue.", callBounds),
		renewalDuration:     histogram("leasing.renewal.duration", "ms", "Time of a renewal.", callBounds),
		acquisitionWait:     histogram("leasing.acquisition.wait", "ms", "Time that a blocking acquisition waited.", waitBounds),
		leaseDuration:       histogram("leasing.lease.duration", "s", "Time that a lease was held, to its release or loss.", leaseBounds),
		operationDuration:   histogram("leasehold.store.operation.duration", "s", "Time of a call of the store.", storeBounds),

		active:  gauge("leasing.active_leases.current", "{lease}", "Leases that are held."),
		waiters: gauge("leasing.waiters.current", "{waiter}", "Blocking acquisitions that have not ended."),
	}
	since, err := m.Float64ObservableGauge("leasing.time_since_last_renewal", metric.WithUnit("s"),
		metric.WithDescription("Time since the last successful renewal, or the grant, of the held lease that has waited longest."))
	i.sinceRenewal = since
	errs = append(errs, err)
	i.counters, err = newCounters(m, dynamic)
	return i, errors.Join(append(errs, err)...)
}

// read returns what the callback reports.
func (i *instruments) read() []metric.Observable {
	all := []metric.Observable{i.active, i.waiters, i.sinceRenewal}
	for _, c := range i.counters {
		if c.read != nil {
			all = append(all, c.read)
		}
	}
	return all
}

// enabled reports whether anything records metrics. A counter that is read by a
// callback cannot tell, but whoever reads it does.
func (t *Telemetry) enabled(ctx context.Context) bool {
	i := t.metrics
	return t.measured.Load() || i.operationDuration.Enabled(ctx) || i.acquisitionDuration.Enabled(ctx) || i.renewalDuration.Enabled(ctx)
}

// contextOf returns the context of a measurement: the SDK looks in it for the span
// of an exemplar, which takes as long as the rest. Without spans it is empty.
func (t *Telemetry) contextOf(ctx context.Context) context.Context {
	if t.tracing() {
		return ctx
	}
	return context.Background()
}

// observe reports the gauges and the counters.
func (t *Telemetry) observe(_ context.Context, o metric.Observer) error {
	t.measured.Store(true)
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	for _, p := range t.providers {
		p.observeCounts(o)
		o.ObserveInt64(t.metrics.waiters, p.waiting.Load(), p.observed)
		active, oldest := int64(len(p.held)), time.Duration(0)
		for l := range p.held {
			oldest = max(oldest, now.Sub(l.lastSuccess()))
		}
		for _, count := range p.counts {
			active += count()
		}
		if p.manages || len(p.counts) > 0 {
			o.ObserveInt64(t.metrics.active, active, p.observed)
		}
		if p.manages {
			o.ObserveFloat64(t.metrics.sinceRenewal, oldest.Seconds(), p.observed)
		}
	}
	return nil
}

// countAcquisition counts one that has ended. Service is the time of its last
// request without the wait, negative where the store cannot tell them apart;
// wait is negative where it did not wait.
func (p *provider) countAcquisition(ctx context.Context, r result, service, wait time.Duration, l *labels) {
	p.count(acquisitions, r, l)
	m := p.t.metrics
	if service >= 0 {
		m.acquisitionDuration.Record(ctx, milliseconds(service), l.record...)
	}
	if wait >= 0 {
		m.acquisitionWait.Record(ctx, milliseconds(wait), l.record...)
	}
}

func (p *provider) countRenewal(ctx context.Context, r result, took time.Duration, l *labels) {
	p.count(renewals, r, l)
	p.t.metrics.renewalDuration.Record(ctx, milliseconds(took), l.record...)
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
