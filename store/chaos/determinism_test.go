package chaos_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/chaos"
)

// The same seed gives the same faults to the same calls of an operation,
// whichever goroutines make them and however operations interleave.
func TestSameSeedSameFaults(t *testing.T) {
	policy := chaos.First(
		chaos.WithProbability(7, 0.2, chaos.LostAnswer),
		chaos.WithProbability(8, 0.2, chaos.Unavailable),
		chaos.Only(chaos.Every(9, chaos.Delay(1)), chaos.OpStatus),
	)
	alone, parallel := faultsOf(t, policy, 1), faultsOf(t, policy, 16)
	if diff := cmp.Diff(alone, parallel); diff != "" {
		t.Errorf("faults with 1 and with 16 goroutines an operation differ:\n%s", diff)
	}
	if again := faultsOf(t, policy, 16); !cmp.Equal(parallel, again) {
		t.Error("faults of two runs with 16 goroutines an operation differ")
	}
	other := faultsOf(t, chaos.WithProbability(70, 0.2, chaos.LostAnswer), 1)
	if cmp.Equal(alone, other) {
		t.Error("another seed gave the same faults")
	}
}

// faultsOf makes 320 calls of each of two operations and returns the faults that
// they met, by operation and number.
func faultsOf(t *testing.T, p chaos.Policy, goroutines int) map[chaos.Op]map[int]chaos.Fault {
	t.Helper()
	var mu sync.Mutex
	faults := map[chaos.Op]map[int]chaos.Fault{chaos.OpAcquire: {}, chaos.OpStatus: {}}
	s, _ := faulty(t, func(c chaos.Call) chaos.Fault {
		f := p(c)
		mu.Lock()
		defer mu.Unlock()
		if _, twice := faults[c.Op][c.N]; twice {
			t.Errorf("two calls of %q have the number %d", c.Op, c.N)
		}
		faults[c.Op][c.N] = f
		return f
	})
	var running sync.WaitGroup
	for g := range goroutines {
		running.Go(func() {
			for i := range 320 / goroutines {
				s.Acquire(t.Context(), request(fmt.Sprintf("r%d-%d", g, i), "h"))
			}
		})
		running.Go(func() {
			for range 320 / goroutines {
				s.Status(context.Background(), "r")
			}
		})
	}
	running.Wait()
	return faults
}

// The methods that control the faults may be called while calls are made.
func TestControlUnderLoad(t *testing.T) {
	s, _ := faulty(t, nil)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for g := range 8 {
		running.Go(func() {
			r := request(fmt.Sprint("r", g), "h")
			for ctx.Err() == nil {
				s.Acquire(ctx, r)
				s.Renew(ctx, leasehold.RenewRequest{ID: r.ID, Resource: r.Resource})
			}
		})
	}
	for i := range 2000 {
		s.SetDown(i%3 == 0)
		s.SetPolicy(chaos.WithProbability(uint64(i), 0.5, chaos.LostAnswer))
		s.Calls()
	}
	stop()
	running.Wait()
	s.SetDown(false)
	s.SetPolicy(nil)
	mustAcquire(t, s, request("after the load", "h"))
}
