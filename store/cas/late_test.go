package cas_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/cas"
)

// A read that is older than the write in doubt does not show that the write is
// shut out: it may still land, after the caller was told that the lease ended.
func TestStaleReadKeepsTheDoubt(t *testing.T) {
	inBubble(t, func(e *env) {
		g := e.acquire("h")
		old := e.service.items["r"]
		time.Sleep(time.Second)
		if _, err := e.renew(g); err != nil {
			t.Fatal(err)
		}
		time.Sleep(8 * time.Second)
		var late func() error
		e.service.beforeSwap = func(_ int, w cas.Write) error {
			e.service.beforeSwap = nil
			present := e.service.items["r"].Version
			late = func() error { _, err := e.service.swap(present, w); return err }
			reads := 0
			e.service.stale = func() (cas.Item, bool) { reads++; return old, reads == 1 }
			time.Sleep(3 * time.Second) // and the answer is lost
			return lost
		}
		_, err := e.renew(g)
		e.want("Renew", err, leasehold.ReasonExpired)
		if late() == nil {
			t.Error("a renewal could land after its caller was told that the lease has expired")
		}
	})
}

// A break never moves the end of a lease, whatever the clock's grain.
func TestBreakOnACoarseClockOnlyShortens(t *testing.T) {
	inBubble(t, func(e *env) {
		e.service.grain = time.Second
		e.store = cas.New(keeping{finding{service: e.service}}, nil)
		defer e.store.Close()
		e.acquire("h")
		end := e.service.items["r"].Row.Ends
		for _, period := range []time.Duration{time.Minute, 10 * time.Second, 9500 * time.Millisecond} {
			if _, err := e.store.Break(e.Context(), leasehold.BreakRequest{Resource: "r", Period: &period}); err != nil {
				t.Fatal(err)
			}
			if got := e.service.items["r"].Row.Ends; got > end {
				t.Errorf("a break for %v moved the end by %v", period, time.Duration(got-end))
			}
		}
	})
}

// coarse counts whole seconds, and a lease ends when they are past its end by more
// than one.
type coarse struct{ finding }

func (coarse) Traits() cas.Traits { return cas.Traits{Kind: "test", Grain: 1001 * time.Millisecond} }

// On a coarse clock a waiter comes back when the lease has ended for sure, and not
// much later: one read.
func TestWaiterOnACoarseClock(t *testing.T) {
	for offset := time.Duration(0); offset < time.Second; offset += 300 * time.Millisecond {
		inBubble(t, func(e *env) {
			e.service.grain = time.Second
			e.store = cas.New(coarse{finding{service: e.service}}, nil)
			defer e.store.Close()
			time.Sleep(offset)
			r := request("h")
			r.TTL = time.Second // so that no look comes between
			if _, err := e.store.Acquire(e.Context(), r); err != nil {
				t.Fatal(err)
			}
			waited := func(what string, w *waiting, most time.Duration) {
				t.Helper()
				e.service.counted()
				if g := w.granted(); g.Waited > most {
					t.Errorf("offset %v: waited %v for the end of %s, want at most %v", offset, g.Waited, what, most)
				}
				if loads, _, _ := e.service.counted(); loads != 1 {
					t.Errorf("offset %v: %d reads until the end of %s, want 1", offset, loads, what)
				}
			}
			waited("a lease", e.wait(e.store, request("w")), r.TTL+2100*time.Millisecond)
			w := e.wait(e.store, request("next"))
			period := time.Second
			if _, err := e.store.Break(e.Context(), leasehold.BreakRequest{Resource: "r", Period: &period}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			waited("a break", w, period+2100*time.Millisecond)
		})
	}
}

// The end of a lease without one is not waited for, only looked for.
func TestWaiterForALeaseWithoutAnEnd(t *testing.T) {
	inBubble(t, func(e *env) {
		e.service.grain = time.Second
		e.store = cas.New(coarse{finding{service: e.service}}, nil)
		defer e.store.Close()
		r := request("h")
		r.TTL = leasehold.Infinite
		if _, err := e.store.Acquire(e.Context(), r); err != nil {
			t.Fatal(err)
		}
		w := e.wait(e.store, request("w"))
		e.service.counted()
		time.Sleep(time.Minute)
		if loads, _, _ := e.service.counted(); loads > 16 {
			t.Errorf("%d reads in a minute, want a look every 5 s", loads)
		}
		w.still()
	})
}

// A grant that is under way for longer than its ttl is no grant when it arrives.
func TestGrantThatLandsAfterItsOwnEnd(t *testing.T) {
	for _, answered := range []bool{true, false} {
		inBubble(t, func(e *env) {
			slow := func(int, cas.Write) error {
				e.service.beforeSwap = nil
				time.Sleep(2 * time.Second)
				return nil
			}
			e.service.beforeSwap = slow
			if !answered {
				e.service.afterSwap = func(int, cas.Write) error { e.service.afterSwap = nil; return lost }
			}
			r := request("h")
			r.TTL = time.Second
			g, err := e.store.Acquire(e.Context(), r)
			if err != nil || g.State != leasehold.StateActive || g.Remaining != time.Second {
				t.Errorf("Acquire = %v with %v, %v; want a lease that lives", g.State, g.Remaining, err)
			}
			r = leasehold.AcquireRequest{Resource: "s", Holder: "h", ID: leasehold.NewID(), TTL: time.Second}
			e.service.beforeSwap = slow
			_, err = e.store.Acquire(e.Context(), r)
			e.want("Acquire with an id that has lived", err, leasehold.ReasonExpired)
		})
	}
}

// The answer to the write that undoes a late renewal is lost.
func TestUndoWhoseAnswerIsLost(t *testing.T) {
	for _, written := range []bool{true, false} {
		err, locked := landLate(t, func(e *env, n int) error {
			if n > 1 {
				return nil
			}
			if written {
				e.service.afterSwap = func(int, cas.Write) error { e.service.afterSwap = nil; return lost }
				return nil
			}
			return lost
		})
		if leasehold.ReasonOf(err) != leasehold.ReasonExpired || locked {
			t.Errorf("Renew = %v, locked = %v; want expired", err, locked)
		}
	}
}

// The service's clock steps back: nothing ends early, no more is shown than the
// ttl, tokens grow, and a renewal puts things right.
func TestClockStepsBack(t *testing.T) {
	inBubble(t, func(e *env) {
		g := e.acquire("h")
		e.service.shift = -time.Hour
		time.Sleep(time.Second)
		if l := e.status().Lease; l.State != leasehold.StateActive || l.Remaining > l.TTL || l.ExpiresAt.Sub(time.Now().Add(-time.Hour)) > l.TTL {
			t.Errorf("status = %v with %v of %v, until %v", l.State, l.Remaining, l.TTL, l.ExpiresAt)
		}
		_, err := e.store.Acquire(e.Context(), request("other"))
		e.want("Acquire", err, leasehold.ReasonHeld)
		if l, err := e.renew(g); err != nil || l.Remaining > l.TTL {
			t.Errorf("Renew = %v of %v, %v", l.Remaining, l.TTL, err)
		}
		time.Sleep(10 * time.Second)
		if next := e.acquire("next"); next.Token <= g.Token {
			t.Errorf("token %d after %d", next.Token, g.Token)
		}
	})
}

// A renewal that came too late is undone, but not one that another server has
// answered since: its holder counts on that.
func TestUndoLeavesALaterRenewal(t *testing.T) {
	inBubble(t, func(e *env) {
		other := cas.New(finding{service: e.service}, nil)
		defer other.Close()
		g := e.acquire("h")
		e.service.beforeSwap = func(int, cas.Write) error {
			e.service.beforeSwap = nil
			time.Sleep(3 * time.Second) // under way until the lease has ended
			return nil
		}
		e.service.afterSwap = func(int, cas.Write) error {
			e.service.afterSwap = nil
			_, err := other.Renew(e.Context(), leasehold.RenewRequest{ID: g.ID, Resource: "r"})
			if err != nil {
				t.Errorf("Renew elsewhere = %v, want success", err)
			}
			return err
		}
		time.Sleep(8 * time.Second)
		_, err := e.renew(g)
		e.want("the late renewal", err, leasehold.ReasonExpired)
		if status := e.status(); !status.Locked() || status.Lease.Token != g.Token {
			t.Errorf("after a renewal was answered the resource is %+v, want the lease", status.Lease)
		}
	})
}
