package local

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// A list of many waiters is copied in steps, each of which holds the lock for a bounded
// time, and bounds what it says of each.
func TestWaitsAreListedInSteps(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, _ *disk) {
		for i := range maxBehind + 3 {
			acquire(t, e, fmt.Sprint("r", i), "h", time.Hour)
		}
		var all []string
		for i := range maxBehind + 3 {
			all = append(all, fmt.Sprint("r", i))
		}
		go e.Wait(t.Context(), leasehold.AcquireRequest{Claims: leasehold.Resources(all...), Holder: "set", Timeout: time.Hour})
		synctest.Wait()
		const many = maxAhead + 200
		for range many {
			go e.Wait(t.Context(), leasehold.AcquireRequest{Resource: "r0", Holder: "w", Timeout: time.Hour})
		}
		synctest.Wait()
		l := waitListing{limit: leasehold.MaxPage}
		steps := 0
		err := e.inSteps(t.Context(), func(now machine.Instant) bool {
			steps++
			before := len(l.list.Waits)
			done := e.waitsStep(&l, now)
			if n := len(l.list.Waits) - before; n > stepSize {
				t.Errorf("one hold of the lock lists %d waiters, want at most %d", n, stepSize)
			}
			return done
		})
		if err != nil {
			t.Fatal(err)
		}
		if steps < 10 {
			t.Errorf("%d waiters are listed in %d steps, want many: each counts those before it", len(l.list.Waits), steps)
		}
		waits := l.list.Waits
		if len(waits) != leasehold.MaxPage || l.list.Total != many+1 {
			t.Fatalf("%d waiters of %d are listed, want %d of %d", len(waits), l.list.Total, leasehold.MaxPage, many+1)
		}
		if w := waits[0]; len(w.Behind) != maxBehind || !w.BehindMore {
			t.Errorf("the set waits for %d, more: %v; want %d and more", len(w.Behind), w.BehindMore, maxBehind)
		}
		for i, w := range waits[1:] {
			if w.Position != i+2 && !(w.Position == 0 && i+2 > maxAhead) {
				t.Fatalf("waiter %d has the position %d", i, w.Position)
			}
		}
	})
}

// A wait of several requests began with the first.
func TestWaitsCountFromTheFirstRequest(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, _ *disk) {
		acquire(t, e, "r", "h", time.Hour)
		r := leasehold.AcquireRequest{Resource: "r", Holder: "w", ID: leasehold.NewID(), Timeout: 5 * time.Second}
		started := time.Now()
		if _, err := e.Wait(t.Context(), r); leasehold.ReasonOf(err) != leasehold.ReasonTimeout {
			t.Fatalf("Wait = %v, want a timeout", err)
		}
		time.Sleep(time.Second)
		go e.Wait(t.Context(), r)
		synctest.Wait()
		list, err := e.Waits(t.Context(), 0)
		if err != nil || len(list.Waits) != 1 || !list.Waits[0].Since.Equal(started.Truncate(time.Millisecond)) {
			t.Errorf("Waits = %+v, %v, want one since %v", list, err, started)
		}
	})
}
