package observe

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/leasehold/leasehold/store/local"
)

var (
	commitSizes  = []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}
	commitBounds = []float64{.00005, .0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5}
)

// Engine returns the observer of the embedded engine.
func (p *Program) Engine() (*local.Observer, error) {
	m := instruments{meter: p.meter()}
	durations := m.histogram("leasehold.commit.duration", "Time of one commit to the disk.", commitBounds)
	sizes, err := m.meter.Int64Histogram("leasehold.commit.batch.size",
		metric.WithDescription("Changes that one commit made durable."), metric.WithExplicitBucketBoundaries(commitSizes...))
	m.keep(err)
	if m.err != nil {
		return nil, m.err
	}
	ctx := context.Background()
	return &local.Observer{Commit: func(c local.Commit) {
		durations.Record(ctx, c.Took.Seconds())
		sizes.Record(ctx, int64(c.Changes))
	}}, nil
}

// Figures is an engine that says how much it has.
type Figures interface{ Figures() local.Figures }

// WatchEngine adds what is read from the engine when metrics are. Call end before
// the engine closes, and FlushMetrics before end: it exports the last figures.
func (p *Program) WatchEngine(e Figures) (end func() error, err error) {
	m := instruments{meter: p.meter()}
	leases := m.observed("leasehold.leases", "Live leases, those on blobs too.", "")
	queue := m.observed("leasehold.queue.length", "Waiters in the queues of all resources.", "")
	history := m.observed("leasehold.history.records", "Records of the history.", "")
	database := m.observed("leasehold.database.size", "Bytes of the database and its log.", "By")
	free := m.observed("leasehold.disk.free", "Bytes that are free on the disk of the database.", "By")
	reserve := m.observed("leasehold.disk.reserve", "Bytes that are kept back for when the disk is full.", "By")
	failures, err := m.meter.Int64ObservableCounter("leasehold.commit.failures", metric.WithDescription("Commits that failed."))
	m.keep(err)
	runs, err := m.meter.Int64ObservableCounter("leasehold.cleanup.runs", metric.WithDescription("Cleanups that ended."))
	m.keep(err)
	removed, err := m.meter.Int64ObservableCounter("leasehold.cleanup.removed", metric.WithDescription("What cleanups removed."))
	m.keep(err)
	if m.err != nil {
		return nil, m.err
	}
	registration, err := m.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		f := e.Figures()
		o.ObserveInt64(leases, int64(f.Leases))
		o.ObserveInt64(queue, int64(f.Waiters))
		o.ObserveInt64(history, f.HistoryRecords)
		for gauge, bytes := range map[metric.Int64Observable]int64{database: f.Disk.Database, free: f.Disk.Free, reserve: f.Disk.Reserve} {
			if bytes >= 0 {
				o.ObserveInt64(gauge, bytes)
			}
		}
		o.ObserveInt64(failures, int64(f.CommitFailures))
		o.ObserveInt64(runs, int64(f.Cleanups))
		for what, n := range map[string]int{"expired": f.Cleaned.Expired, "history": f.Cleaned.HistoryPurged, "forgotten": f.Cleaned.Forgotten} {
			o.ObserveInt64(removed, int64(n), metric.WithAttributes(attribute.String("what", what)))
		}
		return nil
	}, leases, queue, history, database, free, reserve, failures, runs, removed)
	if err != nil {
		return nil, err
	}
	return registration.Unregister, nil
}
