package manager_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/memory"
)

// A Manager waits in several requests where a wait is long. In the history it is
// one wait: none of it where it got the lease, one failure where it did not.
func TestLongWaitsInTheHistory(t *testing.T) {
	for name, c := range map[string]struct {
		patience time.Duration
		failures int
	}{
		"granted":   {10 * time.Minute, 0},
		"timed out": {4 * time.Minute, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memory.New()
				defer store.Close()
				holder, err := leasehold.NewManager(store, &leasehold.Options{Holder: "a"})
				if err != nil {
					t.Fatal(err)
				}
				waiter, err := leasehold.NewManager(store, &leasehold.Options{Holder: "b"})
				if err != nil {
					t.Fatal(err)
				}
				held, err := holder.Acquire(t.Context(), "r")
				if err != nil {
					t.Fatal(err)
				}
				time.AfterFunc(5*time.Minute, func() { held.Release(t.Context()) })
				_, err = waiter.Acquire(t.Context(), "r", leasehold.AcquireOptions{Timeout: c.patience})
				if c.failures > 0 && !errors.Is(err, leasehold.ErrTimeout) || c.failures == 0 && err != nil {
					t.Errorf("Acquire = %v", err)
				}
				time.Sleep(10 * time.Minute)
				page, err := store.History(t.Context(), leasehold.HistoryRequest{Kind: leasehold.KindFailed})
				if err != nil || len(page.Records) != c.failures {
					t.Errorf("the history has %d failures (%v), want %d", len(page.Records), err, c.failures)
				}
				waiter.Close(t.Context())
				holder.Close(t.Context())
			})
		})
	}
}
