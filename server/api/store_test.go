package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/sleep"
	"github.com/leasehold/leasehold/store/local"
	"github.com/leasehold/leasehold/store/memory"
)

// slow is a store that answers after a while, or when the caller loses
// patience.
type slow struct {
	*local.Engine
	takes time.Duration
	fails error // instead of the engine's answer
}

func (s *slow) pause(ctx context.Context) error {
	if !sleep.For(ctx, s.takes) {
		return &leasehold.Error{Reason: leasehold.ReasonUnknown, Cause: context.Cause(ctx)}
	}
	return s.fails
}

func (s *slow) Acquire(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	if err := s.pause(ctx); err != nil {
		return leasehold.Grant{}, err
	}
	return s.Engine.Acquire(ctx, r)
}

func (s *slow) Wait(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	if err := s.pause(ctx); err != nil {
		return leasehold.Grant{}, err
	}
	return s.Engine.Wait(ctx, r)
}

func (s *slow) Status(ctx context.Context, resource string) (leasehold.Status, error) {
	if err := s.pause(ctx); err != nil {
		return leasehold.Status{}, err
	}
	return s.Engine.Status(ctx, resource)
}

func TestStoreTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t, &slow{Engine: memory.New(), takes: time.Hour}, nil)
		for body, limit := range map[string]time.Duration{
			`{"resource":"r","holder":"a"}`:                                      5 * time.Second,
			`{"resource":"r","holder":"a","blocking":true,"timeout_ms":60000}`:   65 * time.Second,
			`{"resource":"r","holder":"a","blocking":true}`:                      35 * time.Second,
			`{"resource":"r","holder":"a","blocking":true,"timeout_ms":0}`:       5 * time.Second,
			`{"resource":"r","holder":"a","blocking":true,"timeout_ms":3600000}`: 0, // an hour and 5 s: it makes it
		} {
			began := time.Now()
			r := d.send("POST", "/v1/leases/acquire", body)
			if limit == 0 {
				if r.status != http.StatusCreated {
					t.Errorf("acquire %s = %d %s, want 201", body, r.status, r.body)
				}
				continue
			}
			p := r.wantProblem(http.StatusGatewayTimeout, "store_timeout")
			if took := time.Since(began); took != limit || !strings.Contains(p.Detail, "may have happened") {
				t.Errorf("acquire %s took %v: %s, want %v and that the outcome is open", body, took, r.body, limit)
			}
		}
		d.send("GET", "/v1/leases/r", "").wantProblem(http.StatusGatewayTimeout, "store_timeout")
		if !strings.Contains(d.log.String(), "the store did not answer in time") {
			t.Error("the log does not tell of the timeout")
		}
	})
}

// queueing is a store that waits but has no settings.
type queueing struct{ *slow }

func (queueing) Settings(context.Context) ([]leasehold.Setting, error) {
	return nil, &leasehold.Error{Reason: leasehold.ReasonUnsupported}
}

func TestWaitWithoutSettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t, queueing{&slow{Engine: memory.New()}}, nil)
		d.acquire("r", "a")
		began := time.Now()
		d.send("POST", "/v1/leases/acquire", blocking("b", "")).wantProblem(http.StatusConflict, "acquire_timeout")
		if took := time.Since(began); took != defaultWait {
			t.Errorf("the wait took %v, want %v", took, defaultWait)
		}
	})
}

func TestStoreFailures(t *testing.T) {
	secret := errors.New("open /var/lib/leasehold/secret.db: no space left")
	for _, c := range []struct {
		err    error
		status int
		code   string
	}{
		{&leasehold.Error{Reason: leasehold.ReasonUnavailable, Cause: secret}, 503, "store_unavailable"},
		{&leasehold.Error{Reason: leasehold.ReasonUnknown, Cause: secret}, 504, "store_timeout"},
		{fmt.Errorf("strange: %w", secret), 500, "internal"},
		{&leasehold.Error{Reason: "something_new", Cause: secret}, 500, "something_new"},
	} {
		d := newDriver(t, &slow{Engine: memory.New(), fails: c.err}, nil)
		r := d.send("POST", "/v1/leases/acquire", `{"resource":"r","holder":"a"}`)
		r.wantProblem(c.status, c.code)
		if strings.Contains(string(r.body), "secret.db") || !strings.Contains(d.log.String(), "secret.db") {
			t.Errorf("%v: answer %s; want the cause in the log only", c.err, r.body)
		}
		if retry := r.header.Get("Retry-After"); (retry != "") != (c.status == 503) {
			t.Errorf("%v: Retry-After = %q", c.err, retry)
		}
	}
}
