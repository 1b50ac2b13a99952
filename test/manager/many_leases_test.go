package manager_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
)

// maxRenewals is how many renewals a Manager has in flight at the most.
const maxRenewals = 256

// acquireMany acquires n leases, spread over the time in which they are renewed.
func acquireMany(t *testing.T, m *leasehold.Manager, prefix string, n int) []*leasehold.Held {
	t.Helper()
	var held []*leasehold.Held
	for i := range n {
		held = append(held, mustTry(t, m, fmt.Sprint(prefix, i)))
		time.Sleep(30 * time.Second / time.Duration(n))
	}
	return held
}

// hangFor makes every renewal of such a resource hang until its context ends.
func hangFor(prefix string) hook {
	return func(ctx context.Context, op, resource string) error {
		if op == "renew" && strings.HasPrefix(resource, prefix) {
			<-ctx.Done()
			return context.Cause(ctx)
		}
		return nil
	}
}

// TestOneHangingLeaseDelaysNoOther: the others are renewed in time.
func TestOneHangingLeaseDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		m := newManager(t, s, nil)
		s.setHook(hangFor("bad"))
		start := time.Now()
		bad := mustTry(t, m, "bad")
		good := acquireMany(t, m, "good", 2000)
		<-bad.Context().Done()
		if got := time.Since(start); got != 54*time.Second {
			t.Errorf("the hanging one was lost after %v, want 54s", got)
		}
		time.Sleep(10 * time.Minute)
		for _, h := range good {
			if h.Err() != nil {
				t.Fatalf("%s: Err() = %v", h.Resource(), h.Err())
			}
		}
	})
}

// TestManyHangingLeasesDelayNoOther: many more requests hang than may be in
// flight; those that have had their time make room for the rest.
func TestManyHangingLeasesDelayNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		m := newManager(t, s, nil)
		s.setHook(hangFor("bad"))
		bad := acquireMany(t, m, "bad", 6*maxRenewals)
		good := acquireMany(t, m, "good", 2000)
		time.Sleep(10 * time.Minute)
		for _, h := range good {
			if h.Err() != nil {
				t.Fatalf("%s: Err() = %v", h.Resource(), h.Err())
			}
		}
		for _, h := range bad {
			if h.Err() == nil {
				t.Fatalf("%s is held", h.Resource())
			}
		}
	})
}

// TestStoreWithoutAnswers: a store that answers no renewal blocks a bounded
// number of goroutines, and every loss is declared in time all the same.
func TestStoreWithoutAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 5_000
		s := newStore(t)
		m := newManager(t, s, nil)
		synctest.Wait()
		before := runtime.NumGoroutine()
		free := make(chan struct{})
		defer close(free)
		s.setHook(func(_ context.Context, op, _ string) error {
			if op == "renew" {
				<-free // ignores its context, too
			}
			return nil
		})
		var late, lost atomic.Int64
		for i := range n {
			h := mustTry(t, m, fmt.Sprint(i))
			start := time.Now()
			context.AfterFunc(h.Context(), func() {
				lost.Add(1)
				late.Add(int64(time.Since(start) - 54*time.Second))
			})
			if i%250 == 0 {
				time.Sleep(time.Second)
			}
		}
		for range 60 {
			time.Sleep(time.Second)
			synctest.Wait()
			if now := runtime.NumGoroutine(); now > before+maxRenewals+64 { // the runtime counts its spare ones in batches
				t.Fatalf("%d goroutines, %d before, want %d more at most", now, before, maxRenewals)
			}
		}
		if lost.Load() != n || late.Load() != 0 {
			t.Errorf("%d of %d losses, %v late in all, want all of them on time", lost.Load(), n, time.Duration(late.Load()))
		}
	})
}
