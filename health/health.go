// Package health checks whether leases can be had from a store, by acquiring one
// and releasing it.
//
//	report := health.Check(ctx, store, nil)
//	if report.Status == health.Unhealthy {
//		log.Print(report.Reason)
//	}
package health

import (
	"context"
	"errors"
	"time"

	"github.com/leasehold/leasehold"
)

// Status is how a check ended.
type Status string

// The statuses.
const (
	Healthy   Status = "healthy"
	Degraded  Status = "degraded"  // leases can be had, but slowly, or not at the first attempt
	Unhealthy Status = "unhealthy" // no lease could be acquired in time
)

// Options configure a check. Nil and the zero value are fine: every zero field
// means its default.
type Options struct {
	// Name is the resource that the check leases. Names that begin with
	// leasehold.HealthPrefix leave no history; a server refuses them to its
	// clients, so a check through store/remote needs another one. Default
	// "__healthcheck__:leasing".
	Name string

	// Holder is who leases it. Default "health".
	Holder string

	// TTL is the length of the lease, which ends by itself if the check cannot
	// release it. Default 15 s.
	TTL time.Duration

	// Timeout is how long the check may last. Default 5 s.
	Timeout time.Duration

	// Slow is how long a healthy check may last; one that takes longer is
	// degraded. Default 1 s.
	Slow time.Duration

	// Store is the store's kind, for the report. Default: what its errors say.
	Store string
}

// Report is the answer of a check.
type Report struct {
	Status   Status
	Store    string // its kind, such as "sqlite"
	Duration time.Duration
	Time     time.Time // when the check started

	// Reason says what is wrong, in words that anybody may read; empty if
	// nothing is.
	Reason string

	// Err is the error behind Reason, if any: for logs, since it may name hosts
	// and files.
	Err error
}

const (
	defaultTTL     = 15 * time.Second
	defaultTimeout = 5 * time.Second
	defaultSlow    = time.Second
	firstPause     = 50 * time.Millisecond // after a failed attempt; doubled each time
)

// The reasons of a report.
const (
	reasonAcquire = "no lease could be acquired"
	reasonRefused = "the store refused the lease"
	reasonRelease = "the lease could not be released"
	reasonRetried = "an attempt failed before one succeeded"
	reasonSlow    = "the store is slow"
)

// Check acquires a lease and releases it. A lease that another check holds is as
// good. It repeats a failed attempt while there is time: a failure that passes is
// degraded, one that does not is unhealthy.
func Check(ctx context.Context, store leasehold.Store, options *Options) Report {
	c := check{store: store, options: options.complete(), id: leasehold.NewID()}
	started := time.Now()
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	r := c.run(ctx)
	r.Time, r.Duration = started, time.Since(started)
	if r.Status == Healthy && r.Duration > c.options.Slow {
		r.Status, r.Reason = Degraded, reasonSlow
	}
	r.Store = c.options.Store
	if e := (*leasehold.Error)(nil); r.Store == "" && errors.As(r.Err, &e) {
		r.Store = e.Store
	}
	return r
}

func (o *Options) complete() Options {
	var c Options
	if o != nil {
		c = *o
	}
	setDefault(&c.Name, leasehold.HealthPrefix+":leasing")
	setDefault(&c.Holder, "health")
	setDefault(&c.TTL, defaultTTL)
	setDefault(&c.Timeout, defaultTimeout)
	setDefault(&c.Slow, defaultSlow)
	return c
}

func setDefault[T comparable](field *T, value T) {
	if *field == *new(T) {
		*field = value
	}
}

// check is one check under way.
type check struct {
	store   leasehold.Store
	options Options
	id      leasehold.ID // proposed, so that an attempt whose answer was lost can be repeated
}

func (c *check) run(ctx context.Context) Report {
	failed, err := retry(ctx, c.acquire)
	switch {
	case errors.Is(err, leasehold.ErrHeld): // by another check
	case err != nil && transient(err):
		return Report{Status: Unhealthy, Reason: reasonAcquire, Err: err}
	case err != nil:
		return Report{Status: Unhealthy, Reason: reasonRefused, Err: err}
	default:
		failedRelease, err := retry(ctx, c.release)
		if err != nil && !errors.Is(err, leasehold.ErrLost) { // an earlier attempt released it, or it ran out
			return Report{Status: Degraded, Reason: reasonRelease, Err: err}
		}
		if failed == nil {
			failed = failedRelease
		}
	}
	if failed != nil {
		return Report{Status: Degraded, Reason: reasonRetried, Err: failed}
	}
	return Report{Status: Healthy}
}

func (c *check) acquire(ctx context.Context) error {
	_, err := c.store.Acquire(ctx, leasehold.AcquireRequest{Resource: c.options.Name, Holder: c.options.Holder, ID: c.id, TTL: c.options.TTL})
	return err
}

func (c *check) release(ctx context.Context) error {
	_, err := c.store.Release(ctx, leasehold.ReleaseRequest{ID: c.id, Resource: c.options.Name})
	return err
}

// retry repeats the call until it succeeds, is refused or time is up. It returns
// the first failure, and the error of the last attempt.
func retry(ctx context.Context, call func(context.Context) error) (failed, err error) {
	for pause := firstPause; ; pause *= 2 {
		err = call(ctx)
		if err == nil || !transient(err) {
			return failed, err
		}
		if failed == nil {
			failed = err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return failed, err
		}
	}
}

// transient reports whether another attempt may succeed. An error that is not the
// store's own says nothing about the next attempt.
func transient(err error) bool {
	switch leasehold.ReasonOf(err).Sentinel() {
	case leasehold.ErrUnavailable, leasehold.ErrUnknown, leasehold.ErrTimeout:
		return true
	}
	return false
}
