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
// outages and pauses of minutes come and go.
const simulatedTTL = 30 * time.Minute

// weather is what goes wrong between a Manager and its store, by the seed.
type weather struct {
	rng         *rand.Rand
	from, until time.Time // the present or next outage
	outage      time.Duration
}

// call decides the fate of one request: it may fail, hang, or succeed with the
// answer lost or late. The store calls it one at a time.
func (w *weather) call(ctx context.Context) (before, after error) {
	now := time.Now()
	if now.After(w.until) {
		w.from = now.Add(time.Duration(w.rng.Int64N(int64(2 * time.Hour))))
		w.until = w.from.Add(time.Duration(w.rng.Int64N(int64(w.outage))))
	}
	if now.After(w.from) {
		return &Error{Reason: ReasonUnavailable}, nil
	}
	switch p := w.rng.Float64(); {
	case p < 0.01:
		return &Error{Reason: ReasonUnknown}, nil
	case p < 0.02:
		return nil, &Error{Reason: ReasonUnknown}
	}
	return nil, nil
}

// TestDayOfRenewals lets thousands of leases live for a day with pauses of the
// machine and outages of the store of every length, and holds the Manager to its
// word: nobody thinks that it holds what the store may have given away, and
// nothing is lost without a reason.
func TestDayOfRenewals(t *testing.T) {
	for _, c := range []struct {
		name    string
		leases  int
		length  time.Duration
		outage  time.Duration // the longest
		sleep   time.Duration // the longest
		mayLose bool
	}{
		{"short outages", soak.Rounds(300, 2000), 24 * time.Hour, time.Minute, time.Minute, false},
		{"long outages", soak.Rounds(200, 500), 24 * time.Hour, 20 * time.Minute, 20 * time.Minute, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				day(t, c.leases, c.length, c.outage, c.sleep, c.mayLose)
			})
		})
	}
}

func day(t *testing.T, leases int, length, outage, longestSleep time.Duration, mayLose bool) {
	host := newFakeHost(t)
	s := host.store()
	w := &weather{rng: rand.New(rand.NewPCG(1, 2)), outage: outage}
	var late error
	s.hook(func(ctx context.Context, op, _ string) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if op != "renew" {
			return nil
		}
		before, after := w.call(ctx)
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
			host.suspend(time.Duration(rng.Int64N(int64(longestSleep))))
		}
		regained := inspect(t, s, m, held)
		if regained > 0 && !mayLose {
			t.Fatalf("%d leases were lost at %v", regained, time.Since(start))
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

// inspect compares what the Manager believes with what the store knows, and takes
// lost leases anew.
func inspect(t *testing.T, s *fakeStore, m *Manager, held []*Held) (regained int) {
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
		regained++
		h.Release(context.Background())
		next, err := m.TryAcquire(context.Background(), h.Resource())
		if err != nil {
			t.Fatalf("TryAcquire(%q) = %v", h.Resource(), err)
		}
		held[i] = next
	}
	return regained
}
