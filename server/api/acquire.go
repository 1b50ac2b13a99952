package api

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/server/internal/rest"
	"github.com/leasehold/leasehold/wire"
)

// acquire serves POST /v1/leases/acquire.
func acquire(c *call, in wire.AcquireRequest) (wire.Grant, error) {
	r, wait, err := in.Request()
	if err == nil {
		err = r.ValidateAll() // a store that grants no claims refuses them itself
	}
	if err == nil && c.batched {
		err = checkBatched(in)
	}
	if err == nil {
		err = checkNames(r)
	}
	if err == nil {
		err = authorizeAcquire(c, r)
	}
	if err != nil {
		return wire.Grant{}, err
	}
	r.Caller = c.caller.Name
	g, err := grant(c, r, in.Blocking, wait)
	if err != nil {
		c.logConflict(r, err)
		return wire.Grant{}, err
	}
	c.logLease(slog.LevelInfo, "acquired", g.Lease)
	if g.Idempotent {
		c.status = http.StatusOK
	}
	if r.ID.IsZero() {
		c.undelivered = func() { releaseUndelivered(c, g.Lease) }
	}
	return wire.FromGrant(g, in.Blocking), nil
}

// checkBatched refuses to wait in a batch: the other operations would wait, too.
func checkBatched(in wire.AcquireRequest) error {
	switch {
	case in.Blocking:
		return leasehold.Invalid("blocking", "is true; a batch does not wait, so wait with a call of its own")
	case in.TimeoutMS != nil && *in.TimeoutMS != 0:
		return leasehold.Invalid("timeout_ms", "is not 0; a batch does not wait, so wait with a call of its own")
	}
	return nil
}

// checkNames refuses the names of blobs and of health checks, whose leases other
// parts of the server acquire. A path is none, whatever its namespace.
func checkNames(r leasehold.AcquireRequest) error {
	if len(r.Claims) == 0 {
		return checkName("resource", r.Resource)
	}
	for _, claim := range r.Claims {
		if claim.Namespace != "" {
			continue
		}
		if err := checkName("resources", claim.Pattern); err != nil {
			return err
		}
	}
	return nil
}

func checkName(field, resource string) error {
	for _, prefix := range []string{"blob:", leasehold.HealthPrefix} {
		if strings.HasPrefix(resource, prefix) {
			return leasehold.Invalid(field, "begins with %s, a namespace whose leases cannot be acquired here; choose another name", prefix)
		}
	}
	return nil
}

// grant acquires the lease, waiting for it if the request and the settings say so.
func grant(c *call, r leasehold.AcquireRequest, blocking, wait bool) (leasehold.Grant, error) {
	if blocking {
		set, err := readWaitSettings(c, wait && r.Timeout != 0)
		switch {
		case err != nil:
			return leasehold.Grant{}, err
		case !set.enabled:
			return leasehold.Grant{}, &leasehold.Error{Reason: leasehold.ReasonBlockingDisabled, Op: c.endpoint.ID, Resource: r.Resource}
		case wait && r.Timeout == 0:
			r.Timeout = set.timeout
		}
	}
	if wait {
		return waitInQueue(c, r)
	}
	return callStore(c, c.s.store.Acquire, r)
}

// defaultWait is how long a wait lasts when neither the request nor a setting
// says: the default of the setting.
const defaultWait = 30 * time.Second

// waitSettings is what the store's settings say about waiting.
type waitSettings struct {
	enabled bool
	timeout time.Duration
}

// readWaitSettings reads the settings, unless the request is complete: then the
// store itself refuses to wait where that is switched off.
func readWaitSettings(c *call, complete bool) (waitSettings, error) {
	set := waitSettings{enabled: true, timeout: defaultWait}
	configurer, ok := c.s.store.(leasehold.Configurer)
	if complete || !ok {
		return set, nil
	}
	all, err := readSettings(c, configurer)
	if leasehold.ReasonOf(err) == leasehold.ReasonUnsupported {
		return set, nil
	}
	for _, setting := range all {
		switch v := setting.Value.(type) {
		case bool:
			set.enabled = set.enabled && (v || setting.Key != leasehold.SettingBlocking)
		case int64:
			if setting.Key == leasehold.SettingAcquireTimeout {
				set.timeout = time.Duration(v) * time.Millisecond
			}
		}
	}
	return set, err
}

func readSettings(c *call, configurer leasehold.Configurer) ([]leasehold.Setting, error) {
	return callStore(c, func(ctx context.Context, _ rest.None) ([]leasehold.Setting, error) { return configurer.Settings(ctx) }, rest.None{})
}

// waitInQueue acquires the lease when the queue grants it. The store's time limit
// starts when the wait is over.
func waitInQueue(c *call, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	s := c.s
	waiter, ok := s.store.(leasehold.Waiter)
	if !ok {
		return leasehold.Grant{}, c.unsupported()
	}
	if s.draining.Err() != nil {
		return leasehold.Grant{}, &leasehold.Error{Reason: leasehold.ReasonUnavailable, Op: c.endpoint.ID,
			Resource: r.Resource, RetryAfter: time.Second, Cause: errDraining}
	}
	if !s.waiters.Enter(c.caller.Name) {
		return leasehold.Grant{}, c.tooMany(r.Resource, nil)
	}
	defer s.waiters.Exit(c.caller.Name)
	c.waited = true
	_ = c.rc.SetReadDeadline(time.Time{}) // a server's read timeout would end the wait as if the client had left
	ctx, cancel := s.untilDrained(c.ctx)
	defer cancel()
	return callStoreFor(c, ctx, r.Timeout, waiter.Wait, r)
}

// releaseUndelivered releases a lease whose grant did not reach its client, which
// cannot request it again without its id.
func releaseUndelivered(c *call, l leasehold.Lease) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), c.s.o.StoreTimeout)
	defer cancel()
	_, err := c.s.store.Release(ctx, leasehold.ReleaseRequest{ID: l.ID, Resource: l.Resource, Why: leasehold.WhyAbandoned})
	level, attrs := slog.LevelDebug, []slog.Attr{slog.String("resource", l.Resource), slog.Uint64("token", l.Token)}
	if err != nil {
		level, attrs = slog.LevelError, append(attrs, slog.String("error", err.Error()))
	}
	c.log(level, "gave an undelivered lease back", attrs...)
}
