package storetest

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
)

// competitors is how many callers Compete has.
const competitors = 1000

// Compete has a thousand callers acquire one resource at the same moment, spread over
// stores on the same data, and expects one grant.
func Compete(t testing.TB, stores ...leasehold.Store) {
	t.Helper()
	var granted atomic.Int32
	concurrently(competitors, func(i int) {
		_, err := stores[i%len(stores)].Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: fmt.Sprint("h", i), TTL: time.Minute})
		switch {
		case err == nil:
			granted.Add(1)
		case !errors.Is(err, leasehold.ErrHeld):
			t.Errorf("Acquire = %v, want ErrHeld", err)
		}
	})
	if n := granted.Load(); n != 1 {
		t.Errorf("%d of %d competitors hold the lease, want 1", n, competitors)
	}
}
