package telemetry

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/metric"
)

// counted is something that is counted by result.
type counted uint8

const (
	acquisitions counted = iota
	renewals
	releases
	losses
	allCounted
)

// counter is a metric of some of the results. Where the attributes are known, the
// count is kept here and read when metrics are: adding to a counter of OpenTelemetry
// costs ten times as much. Where they depend on the lease, OpenTelemetry keeps it,
// which limits how many series there are.
type counter struct {
	of   counted
	has  func(result) bool
	read metric.Int64ObservableCounter // nil: add
	add  metric.Int64Counter
}

func newCounters(m metric.Meter, dynamic bool) ([]counter, error) {
	any := func(result) bool { return true }
	succeeded := func(r result) bool { return r == resultSuccess }
	failed := func(r result) bool { return r != resultSuccess }
	var all []counter
	var errs []error
	add := func(of counted, has func(result) bool, name, unit, text string) {
		c, err := counter{of: of, has: has}, error(nil)
		if dynamic {
			c.add, err = m.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(text))
		} else {
			c.read, err = m.Int64ObservableCounter(name, metric.WithUnit(unit), metric.WithDescription(text))
		}
		all, errs = append(all, c), append(errs, err)
	}
	add(acquisitions, any, "leasing.acquisitions.total", "{acquisition}", "Acquisitions that have ended.")
	add(acquisitions, succeeded, "leasing.acquisitions.succeeded", "{acquisition}", "Acquisitions that got a lease.")
	add(acquisitions, failed, "leasing.acquisitions.failed", "{acquisition}", "Acquisitions that got no lease; the result says why.")
	add(renewals, any, "leasing.renewals.total", "{renewal}", "Renewals that were sent.")
	add(renewals, succeeded, "leasing.renewals.succeeded", "{renewal}", "Renewals that the store confirmed.")
	add(renewals, failed, "leasing.renewals.failed", "{renewal}", "Renewals that failed; the result says why.")
	add(releases, any, "leasing.releases.total", "{release}", "Releases that have ended.")
	add(losses, func(r result) bool { return r == resultLost }, "leasing.leases_lost.total", "{lease}", "Leases that a Manager held and lost.")
	return all, errors.Join(errs...)
}

// count counts one. Labels are those of the result.
func (p *provider) count(what counted, r result, l *labels) {
	if !p.t.dynamic() {
		p.counted[what][r].Add(1)
		return
	}
	for _, c := range p.t.metrics.counters {
		if c.of == what && c.has(r) {
			c.add.Add(context.Background(), 1, l.add...)
		}
	}
}

// observeCounts reports every series from the start, so that its first step from 0
// to 1 is an increase.
func (p *provider) observeCounts(o metric.Observer) {
	if p.t.dynamic() {
		return
	}
	for _, c := range p.t.metrics.counters {
		for r := range results {
			if c.has(r) {
				o.ObserveInt64(c.read, p.counted[c.of][r].Load(), p.results[r].observe)
			}
		}
	}
}
