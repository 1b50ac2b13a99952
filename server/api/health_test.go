package api

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/memory"
	"github.com/leasehold/leasehold/wire"
)

func TestHealth(t *testing.T) {
	down := &leasehold.Error{Reason: leasehold.ReasonUnavailable, Cause: errors.New("disk gone")}
	for _, c := range []struct {
		name    string
		store   *slow
		ready   int
		leasing int
		status  string
	}{
		{"healthy", &slow{}, 200, 200, "healthy"},
		{"slow", &slow{takes: 900 * time.Millisecond}, 200, 200, "healthy"},
		{"slower", &slow{takes: 3 * time.Second}, 503, 200, "degraded"},
		{"stuck", &slow{takes: time.Hour}, 503, 503, "unhealthy"},
		{"down", &slow{fails: down}, 503, 503, "unhealthy"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.store.Engine = memory.New()
				d := newDriver(t, c.store, nil)
				for _, path := range []string{"/healthz", "/health/live"} {
					if h := want[Health](d.send("GET", path, ""), http.StatusOK); h.Status != "healthy" {
						t.Errorf("%s = %+v, want healthy", path, h)
					}
				}
				began := time.Now()
				want[Health](d.send("GET", "/health/ready", ""), c.ready)
				if took := time.Since(began); took > time.Second {
					t.Errorf("ready took %v, want 1 s at most", took)
				}
				began = time.Now()
				h := want[Health](d.send("GET", "/health/leasing", ""), c.leasing)
				if took := time.Since(began); string(h.Status) != c.status || took > 5*time.Second || h.Duration != took.Milliseconds() {
					t.Errorf("leasing = %+v after %v, want %s within 5 s", h, took, c.status)
				}
				if strings.Contains(d.log.String(), "disk gone") != (c.name == "down") {
					t.Errorf("the log is %s", d.log)
				}
			})
		})
	}
}

func TestLeasingHealthLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		d := newDriver(t, store, nil)
		want[Health](d.send("GET", "/health/leasing", ""), http.StatusOK)
		if d.status(healthResource).Locked {
			t.Error("the check left its lease behind")
		}
		if h := want[wire.History](d.send("GET", "/v1/history", ""), http.StatusOK); len(h.History) != 0 {
			t.Errorf("the check left %+v in the history", h)
		}
		// Another server's check is as good as our own.
		if _, err := store.Acquire(t.Context(), leasehold.AcquireRequest{Resource: healthResource, Holder: "another"}); err != nil {
			t.Fatal(err)
		}
		if h := want[Health](d.send("GET", "/health/leasing", ""), http.StatusOK); h.Status != "healthy" {
			t.Errorf("while another check has it: %+v, want healthy", h)
		}
	})
}

func TestLeasingHealthIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slow{Engine: memory.New(), takes: 900 * time.Millisecond}
		d := newDriver(t, store, nil)
		began := time.Now()
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() { want[Health](d.send("GET", "/health/leasing", ""), http.StatusOK) })
		}
		all.Wait()
		if took := time.Since(began); took != 900*time.Millisecond {
			t.Errorf("20 checks took %v, want one that is shared", took)
		}
	})
}

// unreleasing does not release.
type unreleasing struct{ leasehold.Store }

func (unreleasing) Release(context.Context, leasehold.ReleaseRequest) (leasehold.Lease, error) {
	return leasehold.Lease{}, &leasehold.Error{Reason: leasehold.ReasonUnavailable}
}

func TestLeasingHealthWithoutRelease(t *testing.T) {
	d := newDriver(t, unreleasing{memory.New()}, nil)
	if h := want[Health](d.send("GET", "/health/leasing", ""), http.StatusOK); h.Status != "degraded" {
		t.Errorf("leasing = %+v, want degraded", h)
	}
}
