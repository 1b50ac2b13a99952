package api

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/server/internal/rest"
)

// Health is the answer of the health checks.
type Health struct {
	Status   string `json:"status" enum:"healthy,degraded,unhealthy"`
	Detail   string `json:"detail,omitempty" doc:"What is wrong."`
	Duration int64  `json:"duration_ms" doc:"How long the check took."`
}

const (
	healthResource = leasehold.HealthPrefix + ":server"
	healthTTL      = 15 * time.Second
	readyWithin    = time.Second
	leasingWithin  = 5 * time.Second
	slowLeasing    = time.Second // from here on it is degraded
)

// live serves /healthz and /health/live: the answer itself shows it.
func live(*call, rest.None) (Health, error) { return Health{Status: "healthy"}, nil }

// ready serves /health/ready: may traffic come here?
func ready(c *call, _ rest.None) (Health, error) {
	if c.s.draining.Err() != nil {
		return unhealthy(c, errDraining.Error()), nil
	}
	ctx, cancel := context.WithTimeout(c.ctx, readyWithin)
	defer cancel()
	if _, err := c.s.store.Status(ctx, healthResource); err != nil {
		c.logFailure(err)
		return unhealthy(c, "the store does not answer"), nil
	}
	return Health{Status: "healthy", Duration: time.Since(c.started).Milliseconds()}, nil
}

func unhealthy(c *call, detail string) Health {
	c.status = http.StatusServiceUnavailable
	return Health{Status: "unhealthy", Detail: detail, Duration: time.Since(c.started).Milliseconds()}
}

// leasingHealth serves /health/leasing: can leases be had?
func leasingHealth(c *call, _ rest.None) (Health, error) {
	h, err := c.s.leasing.run(c.ctx, c.s.store)
	if err != nil {
		c.logFailure(err)
	}
	if h.Status == "unhealthy" {
		c.status = http.StatusServiceUnavailable
	}
	return h, nil
}

// leasingCheck acquires and releases a lease. Requests that come while a check is
// under way share its answer, so that many probes do not load the store.
type leasingCheck struct {
	mu  sync.Mutex
	now *leasingRun
}

type leasingRun struct {
	done   chan struct{}
	health Health
	err    error
}

func (k *leasingCheck) run(ctx context.Context, store leasehold.Store) (Health, error) {
	k.mu.Lock()
	run := k.now
	if run == nil {
		run = &leasingRun{done: make(chan struct{})}
		k.now = run
		k.mu.Unlock()
		k.finish(run, context.WithoutCancel(ctx), store) // others may wait for it
		return run.health, run.err
	}
	k.mu.Unlock()
	select {
	case <-run.done:
		return run.health, nil // the request that ran it logs the error
	case <-ctx.Done():
		return Health{Status: "unhealthy"}, nil
	}
}

// finish runs the check and wakes those who wait for it, even if the store
// panics.
func (k *leasingCheck) finish(run *leasingRun, ctx context.Context, store leasehold.Store) {
	run.health = Health{Status: "unhealthy", Detail: "the check did not end"}
	defer func() {
		k.mu.Lock()
		k.now = nil
		k.mu.Unlock()
		close(run.done)
	}()
	run.health, run.err = checkLeasing(ctx, store)
}

func checkLeasing(ctx context.Context, store leasehold.Store) (Health, error) {
	started := time.Now()
	ctx, cancel := context.WithTimeout(ctx, leasingWithin)
	defer cancel()
	g, err := store.Acquire(ctx, leasehold.AcquireRequest{Resource: healthResource, Holder: "health", TTL: healthTTL})
	h := Health{Status: "healthy"}
	switch {
	case errors.Is(err, leasehold.ErrHeld): // by another check, which is as good
		err = nil
	case err != nil:
		h.Status, h.Detail = "unhealthy", "no lease could be acquired"
	default:
		if _, err = store.Release(ctx, leasehold.ReleaseRequest{ID: g.ID, Resource: healthResource}); err != nil {
			h.Status, h.Detail = "degraded", "the lease could not be released"
		}
	}
	took := time.Since(started)
	if h.Status == "healthy" && took >= slowLeasing {
		h.Status, h.Detail = "degraded", "the store is slow"
	}
	h.Duration = took.Milliseconds()
	return h, err
}
