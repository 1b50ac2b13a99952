package leasehold

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold/internal/soak"
)

// simulatedTTL makes a day about seventy renewals of each lease, between which
// outages and suspends of minutes come and go.
const simulatedTTL = 30 * time.Minute

// faultPlan is what goes wrong between a Manager and its store, by the seed.
type faultPlan struct {
	rng         *rand.Rand
	from, until time.Time // the present or next outage
	outage      time.Duration
}

// call decides what happens to one request: it may fail before it is applied,
// or after, with the answer lost. The store calls it one at a time.
func (p *faultPlan) call(ctx context.Context) (before, after error) {
	now := time.Now()
	if now.After(p.until) {
		p.from = now.Add(time.Duration(p.rng.Int64N(int64(2 * time.Hour))))
		p.until = p.from.Add(time.Duration(p.rng.Int64N(int64(p.outage))))
	}
	if now.After(p.from) {
		return &Error{Reason: ReasonUnavailable}, nil
	}
	switch chance := p.rng.Float64(); {
	case chance < 0.01:
		return &Error{Reason: ReasonUnknown}, nil
	case chance < 0.02:
		return nil, &Error{Reason: ReasonUnknown}
	}
	return nil, nil
}

// TestDayOfRenewals keeps thousands of leases for a day with suspends of the
// machine and outages of the store of every length. The Manager never believes
// that it holds what the store may have granted to another, and nothing is lost
// without a reason.
func TestDayOfRenewals(t *testing.T) {
	for _, c := range []struct {
		name    string
		leases  int
		length  time.Duration
		outage  time.Duration // the longest
		suspend time.Duration // the longest
		mayLose bool
	}{
		{"short outages", soak.Rounds(300, 2000), 24 * time.Hour, time.Minute, time.Minute, false},
		{"long outages", soak.Rounds(200, 500), 24 * time.Hour, 20 * time.Minute, 20 * time.Minute, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				simulateDay(t, c.leases, c.length, c.outage, c.suspend, c.mayLose)
			})
		})
	}
}

func simulateDay(t *testing.T, leases int, length, outage, longestSuspend time.Duration, mayLose bool) {
	host := newFakeHost(t)
	s := host.store()
	plan := &faultPlan{rng: rand.New(rand.NewPCG(1, 2)), outage: outage}
	var late error
	s.hook(func(ctx context.Context, op, _ string) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if op != "renew" {
			return nil
		}
		before, after := plan.call(ctx)
		late = after
		return before
	}, func(_ context.Context, op, _ string) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if op != "renew" {
			return nil
		}
		return late
	})
	var losses int
	m := newManager(t, s, &Options{TTL: simulatedTTL, RenewRetryInterval: 30 * time.Second, Observe: func(e Event) {
		if _, ok := e.(Lost); ok {
			losses++
		}
	}})
	held := make([]*Held, leases)
	for i := range held {
		held[i] = mustTry(t, m, fmt.Sprint(i))
		time.Sleep(20 * time.Minute / time.Duration(leases))
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for start := time.Now(); time.Since(start) < length; {
		time.Sleep(time.Duration(rng.Int64N(int64(20 * time.Minute))))
		if rng.IntN(5) == 0 {
			host.suspend(time.Duration(rng.Int64N(int64(longestSuspend))))
		}
		lost := reacquireLost(t, s, m, held)
		if lost > 0 && !mayLose {
			t.Fatalf("%d leases were lost at %v", lost, time.Since(start))
		}
	}
	synctest.Wait()
	renewals := s.count("renew")
	if want := leases * int(length/simulatedTTL); renewals < want {
		t.Errorf("%d renewals, want at least %d", renewals, want)
	}
	if mayLose != (losses > 0) {
		t.Errorf("%d losses, want some: %v", losses, mayLose)
	}
	t.Logf("%d renewals of %d leases, %d losses in %v", renewals, leases, losses, length)
}

// reacquireLost compares what the Manager believes with what the store knows, and
// acquires lost leases again.
func reacquireLost(t *testing.T, s *fakeStore, m *Manager, held []*Held) (lost int) {
	t.Helper()
	synctest.Wait()
	for i, h := range held {
		row := s.state(h.Resource())
		if h.Err() == nil && (row.State != StateActive || row.Token != h.Token()) {
			t.Fatalf("%s: the Manager holds token %d, the store has %v with token %d", h.Resource(), h.Token(), row.State, row.Token)
		}
		if h.Err() == nil {
			continue
		}
		lost++
		h.Release(context.Background())
		next, err := m.TryAcquire(context.Background(), h.Resource())
		if err != nil {
			t.Fatalf("TryAcquire(%q) = %v", h.Resource(), err)
		}
		held[i] = next
	}
	return lost
}
