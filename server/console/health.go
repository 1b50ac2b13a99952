package console

import (
	"context"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/health"
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
		Open: v.s.o.Guard.Open(), Secure: v.r.TLS != nil, Powers: powersOf(v.s.store),
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

// powersOf says what the store has beyond leases themselves, as far as its type says.
func powersOf(s leasehold.Store) []power {
	_, waits := s.(leasehold.Waiter)
	_, lists := s.(leasehold.Lister)
	_, history := s.(leasehold.Historian)
	_, breaks := s.(leasehold.Breaker)
	_, releases := s.(leasehold.HolderReleaser)
	_, settings := s.(leasehold.Configurer)
	_, watches := s.(leasehold.Watcher)
	_, waitList := s.(leasehold.WaitLister)
	return []power{
		{"lists leases", lists}, {"keeps a queue of waiters", waits}, {"says who waits for whom", waitList}, {"keeps a history", history},
		{"reports changes as they happen", watches}, {"breaks leases", breaks}, {"force-releases holders", releases}, {"has run-time settings", settings},
	}
}
