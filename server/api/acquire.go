package api

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/wire"
)

// acquire serves POST /v1/leases/acquire.
func (s *Server) acquire(c *call, in wire.AcquireRequest) (wire.Grant, error) {
	r, wait, err := in.Request()
	if err == nil {
		err = r.Validate()
	}
	if err == nil && c.batched {
		err = checkBatched(in)
	}
	if err == nil {
		err = checkNamespace(r.Resource)
	}
	if err != nil {
		return wire.Grant{}, err
	}
	if !c.caller.MayAct(r.Holder, r.Resource) {
		return wire.Grant{}, c.forbidden(r.Resource)
	}
	r.Caller = c.caller.Name
	g, err := s.grant(c, r, in.Blocking, wait)
	if err != nil {
		return wire.Grant{}, err
	}
	if g.Idempotent {
		c.status = http.StatusOK
	}
	if r.ID.IsZero() {
		c.undelivered = func() { c.giveBack(g.Lease) }
	}
	return wire.FromGrant(g, in.Blocking), nil
}

// checkBatched keeps the others in a batch from waiting for one that does.
func checkBatched(in wire.AcquireRequest) error {
	switch {
	case in.Blocking:
		return invalid("blocking", "is true; a batch does not wait, so wait with a call of its own")
	case in.TimeoutMS != nil && *in.TimeoutMS != 0:
		return invalid("timeout_ms", "is not 0; a batch does not wait, so wait with a call of its own")
	}
	return nil
}

// checkNamespace keeps the leases of other doors and of health checks from
// being taken here.
func checkNamespace(resource string) error {
	for _, prefix := range []string{"blob:", leasehold.HealthPrefix} {
		if strings.HasPrefix(resource, prefix) {
			return invalid("resource", "begins with "+prefix+", a namespace whose leases cannot be acquired here; choose another name")
		}
	}
	return nil
}

func (s *Server) grant(c *call, r leasehold.AcquireRequest, blocking, wait bool) (leasehold.Grant, error) {
	if !blocking {
		return within(c, func(ctx context.Context) (leasehold.Grant, error) { return s.store.Acquire(ctx, r) })
	}
	set, err := s.waitSettings(c, wait && r.Timeout != 0)
	switch {
	case err != nil:
		return leasehold.Grant{}, err
	case !set.enabled:
		return leasehold.Grant{}, &leasehold.Error{Reason: leasehold.ReasonBlockingDisabled, Op: c.endpoint.ID, Resource: r.Resource}
	case !wait:
		return within(c, func(ctx context.Context) (leasehold.Grant, error) { return s.store.Acquire(ctx, r) })
	case r.Timeout == 0:
		r.Timeout = set.timeout
	}
	return s.wait(c, r)
}

// defaultWait is how long a wait lasts when neither the request nor a setting
// says: as long as the setting does where there are settings.
const defaultWait = 30 * time.Second

// waitSettings is what the store's settings say about waiting.
type waitSettings struct {
	enabled bool
	timeout time.Duration
}

// waitSettings asks the store, unless the request has said all there is: then
// the store itself refuses what is switched off.
func (s *Server) waitSettings(c *call, complete bool) (waitSettings, error) {
	set := waitSettings{enabled: true, timeout: defaultWait}
	configurer, ok := s.store.(leasehold.Configurer)
	if complete || !ok {
		return set, nil
	}
	all, err := within(c, configurer.Settings)
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

// wait queues the request. The store's time limit begins when the wait is over.
func (s *Server) wait(c *call, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	waiter, ok := s.store.(leasehold.Waiter)
	if !ok {
		return leasehold.Grant{}, c.unsupported()
	}
	if s.draining.Err() != nil {
		return leasehold.Grant{}, &leasehold.Error{Reason: leasehold.ReasonUnavailable, Op: c.endpoint.ID,
			Resource: r.Resource, RetryAfter: time.Second, Cause: errDraining}
	}
	if !s.waiters.enter(c.caller.Name) {
		return leasehold.Grant{}, c.crowded(r.Resource)
	}
	defer s.waiters.leave(c.caller.Name)
	c.waited = true
	_ = c.rc.SetReadDeadline(time.Time{}) // a server's read timeout would end the wait as if the client had left
	ctx, cancel := s.untilDrained(c.r.Context())
	defer cancel()
	return longer(c, ctx, r.Timeout, func(ctx context.Context) (leasehold.Grant, error) { return waiter.Wait(ctx, r) })
}

// giveBack releases a lease that was granted to nobody.
func (c *call) giveBack(l leasehold.Lease) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.r.Context()), c.s.o.StoreTimeout)
	defer cancel()
	_, err := c.s.store.Release(ctx, leasehold.ReleaseRequest{ID: l.ID, Resource: l.Resource, Why: leasehold.WhyAbandoned})
	level, attrs := slog.LevelDebug, c.attrs(slog.String("resource", l.Resource), slog.Uint64("token", l.Token))
	if err != nil {
		level, attrs = slog.LevelError, append(attrs, slog.String("error", err.Error()))
	}
	c.s.o.Logger.LogAttrs(ctx, level, "gave an undelivered lease back", attrs...)
}
