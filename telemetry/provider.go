package telemetry

import (
	"strings"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/leasehold/leasehold"
)

// The attributes of metrics.
const (
	keyProvider  = "provider"
	keyResult    = "result"
	keyOperation = "operation"
	keyLeaseName = "lease_name"
)

// provider is what all stores of one kind share. Its attributes are made once:
// most operations make none.
type provider struct {
	t        *Telemetry
	name     string
	span     []trace.SpanStartOption
	observed metric.ObserveOption
	results  [results]labels
	calls    [methods][results][]metric.RecordOption

	counted [allCounted][results]atomic.Int64
	waiting atomic.Int64 // blocking acquisitions that have not ended

	// The rest is guarded by t.mu.
	held    map[*lease]struct{} // leases of Managers
	counts  []func() int64      // leases of others
	manages bool                // a Manager uses it
}

// labels are the attributes of a measurement.
type labels struct {
	add     []metric.AddOption
	record  []metric.RecordOption
	observe metric.ObserveOption
}

func newLabels(attrs ...attribute.KeyValue) labels {
	set := metric.WithAttributeSet(attribute.NewSet(attrs...))
	return labels{add: []metric.AddOption{set}, record: []metric.RecordOption{set}, observe: set}
}

// provider returns the one of this name.
func (t *Telemetry) provider(name string) *provider {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.providers[name]; p != nil {
		return p
	}
	of := attribute.String(keyProvider, name)
	p := &provider{t: t, name: name, observed: metric.WithAttributeSet(attribute.NewSet(of)), held: make(map[*lease]struct{})}
	p.span = []trace.SpanStartOption{trace.WithSpanKind(kindOf(name)), trace.WithAttributes(attribute.String(attrProvider, name))}
	for r := range results {
		p.results[r] = newLabels(of, attribute.Stringer(keyResult, r))
		for m := range methods {
			p.calls[m][r] = newLabels(of, attribute.Stringer(keyResult, r), attribute.String(keyOperation, methodNames[m].operation)).record
		}
	}
	t.providers[name] = p
	return p
}

// kindOf returns the kind of a store's spans.
func kindOf(name string) trace.SpanKind {
	switch name {
	case "memory", "sqlite":
		return trace.SpanKindInternal
	}
	return trace.SpanKindClient
}

// dynamic reports whether attributes depend on the lease.
func (t *Telemetry) dynamic() bool { return t.options.LeaseName || len(t.options.MetadataKeys) > 0 }

// labels returns the attributes for a result, and for the lease if the options say
// so. A metadata key that the lease lacks has the empty value, so that all series
// of a metric have the same attributes.
func (p *provider) labels(r result, resource string, metadata map[string]string) *labels {
	if !p.t.dynamic() {
		return &p.results[r]
	}
	o := &p.t.options
	attrs := []attribute.KeyValue{attribute.String(keyProvider, p.name), attribute.Stringer(keyResult, r)}
	if o.LeaseName {
		attrs = append(attrs, attribute.String(keyLeaseName, leaseName(resource)))
	}
	for _, key := range o.MetadataKeys {
		attrs = append(attrs, attribute.String(key, metadata[key]))
	}
	l := newLabels(attrs...)
	return &l
}

// leaseName is the resource's name as a label. Leases of several resources have one
// label: each has a name of its own, so there is no end of them.
func leaseName(resource string) string {
	if strings.HasPrefix(resource, leasehold.SetPrefix) {
		return leasehold.SetPrefix
	}
	return resource
}
