package console

import (
	"context"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/serve"
	"github.com/leasehold/leasehold/store/sqlite"
)

// lastHour fills the store of a data directory with an hour that ends now: the clock in
// the bubble passes it in no time, and the store writes its records as in any hour.
func lastHour(t *testing.T, data string) {
	t.Helper()
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	now := time.Now().Round(0) // the bubble's monotonic clock is another
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(now.Add(-time.Hour)))
		store, err := sqlite.Open(t.Context(), serve.DatabaseFile(data), &sqlite.Options{Durability: sqlite.DurabilityNormal})
		if err != nil {
			t.Fatal(err)
		}
		h := &hour{t: t, store: store, ends: now}
		h.work()
		h.keepHeld()
		h.running.Wait()
		time.Sleep(time.Until(now))
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// hour is what goes on in a store until it ends.
type hour struct {
	t       *testing.T
	store   *sqlite.Store
	ends    time.Time
	running sync.WaitGroup
}

// work lets holders come, wait and go, by dice that fall the same each time.
func (h *hour) work() {
	dice := rand.New(rand.NewPCG(17, 4711))
	between := func(a, b time.Duration) time.Duration { return a + time.Duration(dice.Int64N(int64(b-a))) }
	ci := []string{"ci:4690", "ci:4694", "ci:4697", "ci:4701", "ci:4704", "ci:4706", "ci:4709", "ci:4710"}
	for i, ago := 0, 59*time.Minute; ago > 4*time.Minute; i, ago = i+1, ago-between(100*time.Second, 6*time.Minute) {
		h.job("deploy:prod", ci[i%len(ci)], ago, between(50*time.Second, 4*time.Minute))
		if i%2 == 0 {
			h.job("deploy:prod", "agent:docs", ago-between(time.Second, 20*time.Second), between(5*time.Second, 40*time.Second))
		}
	}
	for ago := 58 * time.Minute; ago > time.Minute; ago -= between(20*time.Second, 2*time.Minute) {
		h.job("cache:warm", "node-"+string(rune('1'+dice.IntN(4))), ago, between(20*time.Millisecond, 900*time.Millisecond))
		h.job("migrate:billing", "agent:refactor", ago, between(2*time.Second, 25*time.Second))
		h.job("migrate:billing", "agent:tests", ago-time.Second, between(time.Second, 8*time.Second))
	}
}

// job waits at most two minutes for its lease, holds it and releases it.
func (h *hour) job(resource, holder string, ago, held time.Duration) {
	h.running.Go(func() {
		time.Sleep(time.Until(h.ends.Add(-ago)))
		g, err := h.store.Wait(context.Background(), leasehold.AcquireRequest{Resource: resource, Holder: holder, ID: leasehold.NewID(), TTL: 10 * time.Minute, Timeout: 2 * time.Minute})
		if err != nil {
			return // a wait that failed is part of the picture
		}
		time.Sleep(held)
		if _, err := h.store.Release(context.Background(), leasehold.ReleaseRequest{ID: g.ID, Resource: g.Resource}); err != nil {
			h.t.Errorf("Release(%s) = %v", resource, err)
		}
	})
}

// keepHeld acquires what is held when the hour is over.
func (h *hour) keepHeld() {
	for _, l := range []struct {
		resource, holder string
		ago, ttl         time.Duration
		metadata         map[string]string
	}{
		{"deploy:prod", "ci:4712", 100 * time.Second, 5 * time.Minute, map[string]string{"commit": "9f31c2e", "stage": "canary"}},
		{"deploy:staging", "ci:4713", 3 * time.Minute, 10 * time.Minute, map[string]string{"commit": "77ab01d"}},
		{"leader:scheduler", "node-3", 41 * time.Minute, time.Hour, map[string]string{"zone": "eu-1b"}},
		{"migrate:billing", "agent:refactor", 25 * time.Second, 90 * time.Second, nil},
		{"printer", "ben", 52 * time.Minute, leasehold.Infinite, nil},
		{"report:2026-11", "anna", 11 * time.Minute, 15 * time.Minute, map[string]string{"job": "4711"}},
		{"", "agent:refactor", 6 * time.Minute, 20 * time.Minute, map[string]string{"task": "split the login"}},
	} {
		r := leasehold.AcquireRequest{Resource: l.resource, Holder: l.holder, ID: leasehold.NewID(), TTL: l.ttl, Timeout: 2 * time.Minute, Metadata: l.metadata}
		if l.resource == "" {
			r.Claims = leasehold.Paths("shop", "src/auth/**", "go.mod")
		}
		h.running.Go(func() {
			time.Sleep(time.Until(h.ends.Add(-l.ago)))
			if _, err := h.store.Wait(context.Background(), r); err != nil {
				h.t.Errorf("Wait(%s) = %v", l.resource, err)
			}
		})
	}
}

// queues lets holders wait for what lastHour has left, and be refused a cycle.
func queues(s *site) {
	for i, holder := range []string{"ci:4714", "ci:4715", "agent:docs"} {
		s.wait(map[string]any{"resource": "deploy:prod", "holder": holder})
		s.untilWaiting("deploy:prod", i+1)
	}
	s.wait(map[string]any{"holder": "agent:tests", "namespace": "shop", "paths": []any{map[string]any{"pattern": "src/auth/login.go"}}})
	makeCycle(s)
}
