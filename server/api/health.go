package api

import (
	"cmp"
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/health"
	"github.com/leasehold/leasehold/server/internal/rest"
)

// Health is the answer of the health checks.
type Health struct {
	Status   health.Status `json:"status" enum:"healthy,degraded,unhealthy"`
	Reason   string        `json:"reason,omitempty" doc:"What is wrong."`
	Store    string        `json:"store,omitempty" doc:"The kind of the store that was checked."`
	Duration int64         `json:"duration_ms" doc:"How long the check took."`
	Time     time.Time     `json:"time" doc:"When it started."`
}

// HealthOf converts a report.
func HealthOf(r health.Report) Health {
	return Health{r.Status, r.Reason, r.Store, r.Duration.Milliseconds(), r.Time.UTC()}
}

const (
	healthResource = leasehold.HealthPrefix + ":server"
	readyWithin    = time.Second
)

// live serves /healthz and /health/live: the answer itself shows it.
func live(c *call, _ rest.None) (Health, error) {
	return HealthOf(health.Report{Status: health.Healthy, Time: c.started}), nil
}

// ready serves /health/ready: may traffic come here?
func ready(c *call, _ rest.None) (Health, error) {
	r := health.Report{Status: health.Healthy, Store: c.s.o.Health.Store, Time: c.started}
	if c.s.draining.Err() != nil {
		r.Status, r.Reason = health.Unhealthy, errDraining.Error()
		return c.checked("ready", r), nil
	}
	ctx, cancel := context.WithTimeout(c.ctx, readyWithin)
	defer cancel()
	if _, r.Err = c.s.store.Status(ctx, c.s.o.Health.Name); r.Err != nil {
		r.Status, r.Reason = health.Unhealthy, "the store does not answer"
	}
	r.Duration = time.Since(c.started)
	return c.checked("ready", r), nil
}

// leasing serves /health/leasing: can leases be had?
func leasing(c *call, _ rest.None) (Health, error) {
	return c.checked("leasing", c.s.leasing.run(c.ctx, c.s.store, &c.s.o.Health)), nil
}

// checked reports a check and answers it.
func (c *call) checked(check string, r health.Report) Health {
	c.logFailure(r.Err)
	c.s.observeCheck(check, string(r.Status))
	if r.Status == health.Unhealthy {
		c.status = http.StatusServiceUnavailable
	}
	return HealthOf(r)
}

// completeHealth fills in what is the server's own.
func completeHealth(o health.Options) health.Options {
	o.Name = cmp.Or(o.Name, healthResource)
	return o
}

// leasingCheck shares checks: requests that come while one is under way get its
// answer, so that many probes do not load the store.
type leasingCheck struct {
	mu  sync.Mutex
	now *leasingRun
}

type leasingRun struct {
	done   chan struct{}
	report health.Report
}

func (k *leasingCheck) run(ctx context.Context, store leasehold.Store, o *health.Options) health.Report {
	k.mu.Lock()
	run := k.now
	if run == nil {
		run = &leasingRun{done: make(chan struct{})}
		k.now = run
		k.mu.Unlock()
		k.finish(run, context.WithoutCancel(ctx), store, o) // others may wait for it
		return run.report
	}
	k.mu.Unlock()
	select {
	case <-run.done:
		shared := run.report
		shared.Err = nil // the request that ran it logs the error
		return shared
	case <-ctx.Done():
		return unfinished(o)
	}
}

func unfinished(o *health.Options) health.Report {
	return health.Report{Status: health.Unhealthy, Reason: "the check did not end", Store: o.Store, Time: time.Now()}
}

// finish runs the check and wakes those who wait for it, even if the store
// panics.
func (k *leasingCheck) finish(run *leasingRun, ctx context.Context, store leasehold.Store, o *health.Options) {
	run.report = unfinished(o)
	defer func() {
		k.mu.Lock()
		k.now = nil
		k.mu.Unlock()
		close(run.done)
	}()
	run.report = health.Check(ctx, store, o)
}
