package leasehold

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
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

// TestAcquiredCarriesTheContext: an event's context has the values of the one that
// Trace returned for the acquire, and never ends.
func TestAcquiredCarriesTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		var log recorder
		m := newManager(t, newFakeStore(), &Options{Observe: log.keep, Trace: func(ctx context.Context, _ Operation) (context.Context, func(uint64, error)) {
			return context.WithValue(ctx, key{}, "traced"), func(uint64, error) {}
		}})
		ctx, cancel := context.WithCancel(t.Context())
		h, err := m.Acquire(ctx, "a")
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		mustTry(t, m, "b", AcquireOptions{NoAutoRenew: true})
		if diff := cmp.Diff([]string{"Acquired", "Acquired"}, log.kinds()); diff != "" {
			t.Fatalf("events -want +got:\n%s", diff)
		}
		a, b := log.all()[0].(Acquired), log.all()[1].(Acquired)
		if !a.AutoRenew || b.AutoRenew || a.Token != h.Token() {
			t.Errorf("events = %+v, %+v, want auto-renewal for a only", a, b)
		}
		if a.Context().Value(key{}) != "traced" || a.Context().Err() != nil {
			t.Errorf("the context has the value %v and ended with %v, want it traced and alive", a.Context().Value(key{}), a.Context().Err())
		}
		if h.Context().Value(key{}) != nil {
			t.Error("the work's context is that of the acquire, want that of its caller")
		}
		if (EventInfo{}).Context() == nil {
			t.Error("an event without a context has none, want an empty one")
		}
	})
}

// TestSafetyLineNear: with a ttl of a minute the renewal is due after 40 s, and the
// line is at 54 s.
func TestSafetyLineNear(t *testing.T) {
	for _, c := range []struct {
		name    string
		options AcquireOptions
		change  func(*fakeStore)
		want    []time.Duration // when
	}{
		{"renewed in time", AcquireOptions{}, func(*fakeStore) {}, nil},
		{"store down", AcquireOptions{}, func(s *fakeStore) { s.hook(failRenewals(&Error{Reason: ReasonUnavailable}), nil) }, []time.Duration{47 * time.Second}},
		{"nobody renews", AcquireOptions{NoAutoRenew: true}, func(*fakeStore) {}, []time.Duration{47 * time.Second}},
		{"infinite", AcquireOptions{TTL: Infinite}, func(s *fakeStore) { s.hook(failRenewals(&Error{Reason: ReasonUnavailable}), nil) }, nil},
		{"breaking", AcquireOptions{}, func(s *fakeStore) {
			s.hook(failRenewals(&Error{Reason: ReasonBreaking, Remaining: 20 * time.Second}), nil)
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFakeStore()
				var log recorder
				m := newManager(t, s, &Options{Observe: log.keep})
				start := time.Now()
				mustTry(t, m, "a", c.options)
				c.change(s)
				time.Sleep(2 * time.Minute)
				var got []time.Duration
				for _, e := range log.all() {
					if near, ok := e.(SafetyLineNear); ok {
						got = append(got, near.Time.Sub(start))
						if near.Remaining != 7*time.Second {
							t.Errorf("Remaining = %v, want 7s", near.Remaining)
						}
					}
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("warned at -want +got:\n%s", diff)
				}
			})
		})
	}
}

// TestWarningKeepsThePlaceForASlot: a lease that waits for a slot when the warning
// is due still gets one.
func TestWarningKeepsThePlaceForASlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager(t, newFakeStore(), nil)
		h := mustTry(t, m, "a")
		m.mu.Lock()
		defer m.mu.Unlock()
		h.next = never
		m.schedule(h)
		m.ready.put(h)
		m.renewOrLose(h, h.near)
		if h.index[byLine] == 0 || h.near != never || h.due != h.line {
			t.Errorf("waits for a slot: %t, near %v, due %v; want it waiting, warned, due at its line %v", h.index[byLine] != 0, h.near, h.due, h.line)
		}
	})
}

// TestClockJumped: one event for each suspend.
func TestClockJumped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := newFakeHost(t)
		var log recorder
		m := newManager(t, host.store(), &Options{Observe: log.keep})
		mustTry(t, m, "a")
		time.Sleep(10 * time.Second)
		host.suspend(20 * time.Second)
		time.Sleep(time.Second)
		var got []time.Duration
		for _, e := range log.all() {
			if j, ok := e.(ClockJumped); ok {
				got = append(got, j.By)
				if j.Resource != "" || j.Time.IsZero() {
					t.Errorf("ClockJumped = %+v, want a time and no lease", j)
				}
			}
		}
		if diff := cmp.Diff([]time.Duration{20 * time.Second}, got); diff != "" {
			t.Errorf("jumps -want +got:\n%s", diff)
		}
	})
}

// TestTrace: every operation is announced before its requests and reported after
// them, without a lock, and its requests have its context.
func TestTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		s := newFakeStore()
		var untraced atomic.Int32
		s.hook(func(ctx context.Context, _, _ string) error {
			if ctx.Value(key{}) == nil {
				untraced.Add(1)
			}
			return nil
		}, nil)
		var mu sync.Mutex
		var got []string
		var m *Manager
		m = newManager(t, s, &Options{Trace: func(ctx context.Context, o Operation) (context.Context, func(uint64, error)) {
			m.mu.Lock() // no lock is held
			held := m.held.Len()
			m.mu.Unlock()
			if held > 1 {
				t.Errorf("%d leases held, want one at most", held)
			}
			if acquiring := o.Kind <= OperationTryAcquire; acquiring != (o.Acquired == nil) || acquiring != (o.Token == 0) {
				t.Errorf("Operation = %+v", o)
			}
			return context.WithValue(ctx, key{}, true), func(token uint64, err error) {
				mu.Lock()
				defer mu.Unlock()
				got = append(got, fmt.Sprintf("%d %s timeout %v attempt %d token %d %v", o.Kind, o.Resource, o.Timeout, o.Attempt, token, ReasonOf(err)))
			}
		}})
		h := mustTry(t, m, "a")
		if _, err := m.TryAcquire(t.Context(), "a", AcquireOptions{Timeout: time.Second}); !errors.Is(err, ErrHeld) {
			t.Errorf("TryAcquire = %v, want ErrHeld", err)
		}
		if _, err := m.Acquire(t.Context(), "a", AcquireOptions{Timeout: time.Second}); !errors.Is(err, ErrTimeout) {
			t.Errorf("Acquire = %v, want ErrTimeout", err)
		}
		if err := h.Renew(t.Context()); err != nil {
			t.Errorf("Renew = %v", err)
		}
		time.Sleep(41 * time.Second)
		if err := h.Release(t.Context()); err != nil {
			t.Errorf("Release = %v", err)
		}
		synctest.Wait()
		want := []string{
			"1 a timeout 0s attempt 0 token 1 ",
			"1 a timeout 0s attempt 0 token 0 lease_held",
			"0 a timeout 1s attempt 0 token 0 acquire_timeout",
			"2 a timeout 0s attempt 0 token 1 ",
			"3 a timeout 0s attempt 1 token 1 ",
			"4 a timeout 0s attempt 0 token 1 ",
		}
		mu.Lock()
		defer mu.Unlock()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("operations -want +got:\n%s", diff)
		}
		if untraced.Load() != 0 {
			t.Errorf("%d requests without their operation's context", untraced.Load())
		}
	})
}

// TestReleaseEndsARenewal: the renewal counts as cancelled, not as failed.
func TestReleaseEndsARenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		reasons := make(chan Reason, 1)
		m := newManager(t, s, &Options{Trace: func(ctx context.Context, o Operation) (context.Context, func(uint64, error)) {
			return ctx, func(_ uint64, err error) {
				if o.Kind == OperationAutoRenewal {
					reasons <- ReasonOf(err)
				}
			}
		}})
		h := mustTry(t, m, "a")
		s.hook(func(ctx context.Context, op, _ string) error {
			if op != "renew" {
				return nil
			}
			<-ctx.Done()
			return &Error{Reason: ReasonUnknown, Cause: ctx.Err()}
		}, nil)
		time.Sleep(41 * time.Second)
		if err := h.Release(t.Context()); err != nil {
			t.Errorf("Release = %v", err)
		}
		if got := <-reasons; got != ReasonCancelled {
			t.Errorf("the renewal ended with %q, want %q", got, ReasonCancelled)
		}
	})
}
