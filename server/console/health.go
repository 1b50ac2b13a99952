package console

import (
	"context"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/health"
	"github.com/leasehold/leasehold/internal/powers"
)

// healthData is what the page of health shows.
type healthData struct {
	Report  health.Report
	Read    time.Duration // how long a read took
	ReadErr bool
	Up      float64 // seconds
	Started time.Time
	Streams int
	Open    bool
	Secure  bool
	Powers  []power
}

type power struct {
	Name string
	Has  bool
}

// health shows whether leases can be had, by acquiring one.
func (v *visit) health() error {
	d := healthData{
		Up: time.Since(v.s.started).Seconds(), Started: v.s.started, Streams: v.s.o.Streams.Size(),
		Open: v.s.o.Guard.Open(), Secure: v.r.TLS != nil, Powers: v.powers(),
	}
	started := time.Now()
	_, err := callStore(v, v.s.store.Status, v.s.o.Health.Name)
	d.Read, d.ReadErr = time.Since(started), err != nil
	v.s.checking.Lock() // many visitors do not load the store more than one
	d.Report = health.Check(context.WithoutCancel(v.ctx), v.s.store, &v.s.o.Health)
	v.s.checking.Unlock()
	if d.Report.Err != nil {
		v.s.o.Logger.Error("health check", "error", d.Report.Err, "request_id", v.requestID)
	}
	return v.render(200, "health", page{Title: "Health", Current: "health", Data: d})
}

// powers says what the store has beyond leases themselves: what can be read, by reading.
func (v *visit) powers() []power {
	s := v.s
	_, waits := s.store.(leasehold.Waiter)
	_, breaks := s.store.(leasehold.Breaker)
	_, releases := s.store.(leasehold.HolderReleaser)
	lister, lists := s.store.(leasehold.Lister)
	if lists {
		_, err := callStore(v, lister.List, leasehold.ListRequest{Limit: 1})
		lists = !unsupported(err)
	}
	historian, history := s.store.(leasehold.Historian)
	if history {
		_, err := callStore(v, historian.History, leasehold.HistoryRequest{Limit: 1})
		history = !unsupported(err)
	}
	configurer, settings := s.store.(leasehold.Configurer)
	if settings {
		_, err := callStore(v, func(ctx context.Context, _ struct{}) ([]leasehold.Setting, error) { return configurer.Settings(ctx) }, struct{}{})
		settings = !unsupported(err)
	}
	_, err := v.waitTable()
	return []power{
		{"lists leases", s.has(lists, powers.Listing)}, {"keeps a queue of waiters", s.has(waits, powers.Waiting)},
		{"says who waits for whom", !unsupported(err)}, {"keeps a history", s.has(history, powers.History)},
		{"reports changes as they happen", s.watches()}, {"breaks leases", s.has(breaks, powers.Breaking)},
		{"force-releases holders", s.has(releases, powers.ForceRelease)}, {"has run-time settings", s.has(settings, powers.Settings)},
	}
}
