package manager_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/memory"
)

// TestManagersOnTheEngine lets several Managers compete for one resource on the
// real engine: one at a time, tokens that grow, everybody's turn, nothing left.
func TestManagersOnTheEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		defer store.Close()
		var inside atomic.Int32
		var last atomic.Uint64
		done := make(chan error)
		const managers, turns = 10, 5
		for i := range managers {
			m, err := leasehold.NewManager(store, &leasehold.Options{Holder: fmt.Sprint("holder ", i)})
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				var all error
				for range turns {
					all = errors.Join(all, m.Do(t.Context(), "r", func(ctx context.Context, h *leasehold.Held) error {
						if inside.Add(1) != 1 || last.Swap(h.Token()) >= h.Token() {
							t.Errorf("%s is not alone, or its token %d is not new", h.Holder(), h.Token())
						}
						time.Sleep(3 * time.Minute) // three ttls
						inside.Add(-1)
						return ctx.Err()
					}))
				}
				done <- errors.Join(all, m.Close(t.Context()))
			}()
		}
		for range managers {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if status, err := store.Status(t.Context(), "r"); err != nil || status.Locked() || len(status.Waiters) != 0 {
			t.Errorf("Status(r) = %+v, %v, want it free", status, err)
		}
	})
}

// TestEngineEndsLeases: force-release, break with a period, and a cancelled wait.
func TestEngineEndsLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		defer store.Close()
		m, err := leasehold.NewManager(store, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close(t.Context())
		forced, err := m.TryAcquire(t.Context(), "forced")
		if err != nil {
			t.Fatal(err)
		}
		broken, err := m.TryAcquire(t.Context(), "broken", leasehold.AcquireOptions{TTL: leasehold.Infinite})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if _, err := m.Acquire(ctx, "forced"); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, leasehold.ErrTimeout) {
			t.Errorf("Acquire(forced) = %v, want both causes", err)
		}
		period := time.Minute
		if _, err := store.Break(t.Context(), leasehold.BreakRequest{Resource: "broken", Period: &period}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(25 * time.Second) // the next verification finds 40 s left
		if broken.Err() != nil || forced.Err() != nil {
			t.Errorf("Err() = %v and %v, want nil while breaking", broken.Err(), forced.Err())
		}
		if n, err := store.ReleaseHolder(t.Context(), m.Holder(), "test"); n != 2 || err != nil {
			t.Errorf("ReleaseHolder = %d, %v, want 2", n, err)
		}
		time.Sleep(time.Minute)
		if got := leasehold.ReasonOf(forced.Err()); got != leasehold.ReasonReleased {
			t.Errorf("Err() of the forced one = %v, want %s", forced.Err(), leasehold.ReasonReleased)
		}
		if got := leasehold.ReasonOf(broken.Err()); got != leasehold.ReasonBroken {
			t.Errorf("Err() of the broken one = %v, want %s", broken.Err(), leasehold.ReasonBroken)
		}
	})
}
