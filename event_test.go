package leasehold

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestSlowObserverDelaysNothing: renewals go on and losses are declared while the
// hook hangs, and afterwards it gets every loss, in order.
func TestSlowObserverDelaysNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		free := make(chan struct{})
		var log recorder
		m := newManager(t, s, &Options{TTL: 10 * time.Second, Observe: func(e Event) {
			<-free
			log.observe(e)
		}})
		var held []*Held
		for i := range 100 {
			held = append(held, mustTry(t, m, fmt.Sprint(i)))
		}
		time.Sleep(time.Hour)
		for _, h := range held {
			wantHeld(t, h)
		}
		s.hook(failRenewals(&Error{Reason: ReasonNotFound}), nil)
		time.Sleep(10 * time.Second)
		for _, h := range held {
			wantLost(t, h, ReasonNotFound)
		}
		close(free)
		synctest.Wait()
		lost, last := 0, map[string]Event{}
		for _, e := range log.all() {
			if before, ok := last[e.Info().Resource].(Lost); ok {
				t.Errorf("%+v came after %+v", e, before)
			}
			last[e.Info().Resource] = e
			if _, ok := e.(Lost); ok {
				lost++
			}
		}
		if n := len(log.all()); lost != 100 || n > maxQueuedEvents+1000 {
			t.Errorf("%d losses among %d events, want 100 of about %d: the frequent ones are left out", lost, n, maxQueuedEvents)
		}
	})
}

// TestObserverMayCallTheManager: no lock is held.
func TestObserverMayCallTheManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		var h atomic.Pointer[Held]
		var again atomic.Pointer[Held]
		var m *Manager
		m = newManager(t, s, &Options{Observe: func(e Event) {
			if _, ok := e.(Renewed); ok {
				h.Load().Release(context.Background())
				next, err := m.TryAcquire(context.Background(), "a")
				if err != nil {
					t.Errorf("TryAcquire in the hook = %v", err)
				}
				again.Store(next)
			}
		}})
		h.Store(mustTry(t, m, "a"))
		time.Sleep(41 * time.Second)
		if again.Load() == nil || again.Load().Err() != nil {
			t.Error("the hook could not acquire")
		}
	})
}
