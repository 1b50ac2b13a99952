package leasehold

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestDeadlineCountsFromBeforeTheRequest: a slow request eats into the lease,
// because the store may have started to count at once.
func TestDeadlineCountsFromBeforeTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		slow := func(context.Context, string, string) error { time.Sleep(5 * time.Second); return nil }
		s.hook(nil, slow)
		m := newManager(t, s, &Options{NoAutoRenew: true})
		start := time.Now()
		h := mustTry(t, m, "a")
		<-h.Context().Done()
		if got := time.Since(start); got != 54*time.Second {
			t.Errorf("lost %v after the request was sent, want 54s", got)
		}
		if left := s.state("a").Remaining; left <= 0 {
			t.Error("the store had given the lease away before the context ended")
		}
		wantLost(t, h, ReasonExpired)
	})
}

// TestRenewalCountsFromBeforeTheRequest is the same for renewals.
func TestRenewalCountsFromBeforeTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		m := newManager(t, s, &Options{NoAutoRenew: true})
		h := mustTry(t, m, "a")
		time.Sleep(20 * time.Second)
		s.hook(nil, func(context.Context, string, string) error { time.Sleep(4 * time.Second); return nil })
		sent := time.Now()
		if err := h.Renew(t.Context()); err != nil {
			t.Fatalf("Renew = %v", err)
		}
		<-h.Context().Done()
		if got := time.Since(sent); got != 54*time.Second {
			t.Errorf("lost %v after the renewal was sent, want 54s", got)
		}
	})
}

// TestLongWaitWithDelayedAnswer: ten ttls in the queue, and an answer that takes
// its time. The lease is neither dead on arrival nor honoured too long.
func TestLongWaitWithDelayedAnswer(t *testing.T) {
	for _, c := range []struct {
		name    string
		unknown bool          // the store does not know how long the request waited
		delay   time.Duration // of the answer
		line    time.Duration // after the grant
	}{
		{"known", false, 0, 54 * time.Second},
		{"known, late", false, 20 * time.Second, 54 * time.Second},
		{"known, after the line", false, 55 * time.Second, (55 + 54) * time.Second}, // by the renewal that confirms it
		{"unknown", true, 0, 54 * time.Second},
		{"unknown, late", true, 20 * time.Second, (20 + 54) * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &fakeQueue{fakeStore: newFakeStore(), unknown: c.unknown}
				first := mustTry(t, newManager(t, s, nil), "a")
				var granted time.Time
				s.hook(nil, func(ctx context.Context, op, _ string) error {
					if op == "wait" && s.state("a").Token == 2 {
						granted = time.Now()
						time.Sleep(c.delay)
					}
					return nil
				})
				// The wait is one request, as if the whole of it fit into one.
				m := newManager(t, s, &Options{NoAutoRenew: true})
				time.AfterFunc(10*time.Minute, func() { first.Release(context.Background()) })
				a, err := newAcquisition(t.Context(), m, "a", nil)
				if err != nil {
					t.Fatal(err)
				}
				h, err := a.claim(t.Context(), func(a *acquisition, ctx context.Context) (*Held, error) {
					a.req.Timeout = time.Hour
					return a.send(ctx, s.Wait, time.Hour)
				})
				if err != nil {
					t.Fatalf("Wait = %v", err)
				}
				wantHeld(t, h)
				confirmed := c.unknown || c.delay > 54*time.Second
				if got := s.count("renew") > 10; confirmed != (h.Renewals() == 1) {
					t.Errorf("Renewals() = %d, confirmed %v, want %v", h.Renewals(), got, confirmed)
				}
				<-h.Context().Done()
				if got := time.Since(granted); got != c.line {
					t.Errorf("lost %v after the grant, want %v", got, c.line)
				}
				if s.state("a").Remaining <= 0 {
					t.Error("the store had given the lease away before the context ended")
				}
			})
		})
	}
}

// TestWaitedLongerThanTheRequest: a store that exaggerates how long the request
// waited gains nothing.
func TestWaitedLongerThanTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager(t, newFakeStore(), &Options{NoAutoRenew: true})
		a, err := newAcquisition(t.Context(), m, "a", nil)
		if err != nil {
			t.Fatal(err)
		}
		h, err := a.claim(t.Context(), func(a *acquisition, ctx context.Context) (*Held, error) {
			return a.send(ctx, func(ctx context.Context, r AcquireRequest) (Grant, error) {
				g, err := m.store.Acquire(ctx, r)
				g.Waited = time.Hour
				return g, err
			}, time.Minute)
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(54 * time.Second)
		wantLost(t, h, ReasonExpired)
	})
}

// TestConfirmFails: a grant that cannot be confirmed is not handed out.
func TestConfirmFails(t *testing.T) {
	none := 0
	for _, c := range []struct {
		name    string
		want    AcquireOptions
		renewal *Error
		target  error
		state   State // of the row in the end
	}{
		{"gone", AcquireOptions{}, &Error{Reason: ReasonExpired}, ErrLost, StateActive},
		{"store down", AcquireOptions{TTL: 5 * time.Second}, &Error{Reason: ReasonUnavailable}, ErrUnavailable, StateExpired},
		{"no renewals", AcquireOptions{MaxRenewals: &none}, nil, ErrInvalid, StateReleased},
		{"no answer in time", AcquireOptions{TTL: Infinite}, &Error{Reason: ReasonUnknown}, ErrUnknown, StateReleased},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFakeStore()
				s.before = func(_ context.Context, op, _ string) error {
					if op == "renew" && c.renewal != nil {
						return c.renewal
					}
					return nil
				}
				m := newManager(t, s, nil)
				a, err := newAcquisition(t.Context(), m, "a", []AcquireOptions{c.want})
				if err != nil {
					t.Fatal(err)
				}
				_, err = a.claim(t.Context(), func(a *acquisition, ctx context.Context) (*Held, error) {
					return a.send(ctx, func(ctx context.Context, r AcquireRequest) (Grant, error) {
						g, err := s.Acquire(ctx, r)
						g.Waited = WaitUnknown
						return g, err
					}, time.Minute)
				})
				wantErr(t, "a grant without confirmation", err, c.target)
				synctest.Wait()
				if got := s.state("a").State; got != c.state {
					t.Errorf("the row is %v, want %v", got, c.state)
				}
			})
		})
	}
}

// TestConfirmComesLate: a confirmation whose answer takes longer than the lease
// is none; the next one counts.
func TestConfirmComesLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		n := 0
		s.after = func(_ context.Context, op, _ string) error {
			if op == "acquire" {
				time.Sleep(9500 * time.Millisecond)
			}
			if n++; op == "renew" && n == 2 {
				time.Sleep(9500 * time.Millisecond) // a store that minds no deadline
			}
			return nil
		}
		m := newManager(t, s, &Options{TTL: 10 * time.Second, NoAutoRenew: true})
		h := mustTry(t, m, "a")
		wantHeld(t, h)
		if h.Renewals() != 2 {
			t.Errorf("Renewals() = %d, want 2", h.Renewals())
		}
	})
}

// TestStorePromisesLess: the line is drawn by what the store has promised.
func TestStorePromisesLess(t *testing.T) {
	for _, c := range []struct{ ttl, remaining, want time.Duration }{
		{time.Minute, time.Minute, time.Minute},
		{time.Minute, 30 * time.Second, 30 * time.Second},
		{time.Minute, 0, time.Minute},
		{Infinite, Infinite, Infinite},
	} {
		if got := lengthOf(Lease{TTL: c.ttl, Remaining: c.remaining}); got != c.want {
			t.Errorf("lengthOf(ttl %v, remaining %v) = %v, want %v", c.ttl, c.remaining, got, c.want)
		}
	}
}

func wantRemaining(t *testing.T, when string, h *Held, line, end time.Duration) {
	t.Helper()
	gotLine, gotEnd := h.Remaining()
	if (gotLine-line).Abs() > time.Millisecond || (gotEnd-end).Abs() > time.Millisecond {
		t.Errorf("Remaining() %s = %v, %v, want %v, %v", when, gotLine, gotEnd, line, end)
	}
}

// TestRemaining: a minute's lease has its line at 54 s and ends 602 ms early.
func TestRemaining(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		m := newManager(t, s, &Options{NoAutoRenew: true})
		h := mustTry(t, m, "a")
		wantRemaining(t, "at first", h, 54*time.Second, 59398*time.Millisecond)
		time.Sleep(20 * time.Second)
		wantRemaining(t, "later", h, 34*time.Second, 39398*time.Millisecond)
		if err := h.Renew(t.Context()); err != nil {
			t.Fatalf("Renew = %v", err)
		}
		wantRemaining(t, "renewed", h, 54*time.Second, 59398*time.Millisecond)
		time.Sleep(55 * time.Second)
		wantRemaining(t, "past the line", h, 0, 4398*time.Millisecond)
		time.Sleep(5 * time.Second)
		wantRemaining(t, "past the end", h, 0, 0)
	})
}

func TestRemainingOfAnEndedLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		m := newManager(t, s, &Options{NoAutoRenew: true})
		released, broken := mustTry(t, m, "released"), mustTry(t, m, "broken")
		if err := released.Release(t.Context()); err != nil {
			t.Fatalf("Release = %v", err)
		}
		wantRemaining(t, "released", released, 0, 0)
		s.breakLease("broken", 0)
		if err := broken.Renew(t.Context()); !errors.Is(err, ErrLost) {
			t.Fatalf("Renew = %v, want %v", err, ErrLost)
		}
		wantRemaining(t, "gone", broken, 0, 0)
	})
}

// TestRemainingWhileBreaking: the end is never put later than the store's, even
// when what was left of the period has been forgotten.
func TestRemainingWhileBreaking(t *testing.T) {
	for name, ttl := range map[string]time.Duration{"finite": time.Minute, "infinite": Infinite} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFakeStore()
				m := newManager(t, s, &Options{TTL: ttl, NoAutoRenew: true})
				h := mustTry(t, m, "a")
				if ttl == Infinite {
					wantRemaining(t, "at first", h, Infinite, Infinite)
				}
				time.Sleep(20 * time.Second)
				s.breakLease("a", 10*time.Second)
				if err := h.Renew(t.Context()); ReasonOf(err) != ReasonBreaking {
					t.Fatalf("Renew = %v, want %v", err, ReasonBreaking)
				}
				wantRemaining(t, "while breaking", h, 9*time.Second, 9898*time.Millisecond)
				s.before = failRenewals(&Error{Reason: ReasonUnavailable})
				if err := h.Renew(t.Context()); !errors.Is(err, ErrUnavailable) {
					t.Fatalf("Renew = %v, want %v", err, ErrUnavailable)
				}
				wantRemaining(t, "after a failure", h, 9*time.Second, 9*time.Second)
			})
		})
	}
}

// TestSuccessSentBeforeTheBreak does not undo it, and neither does an older
// refusal.
func TestSuccessSentBeforeTheBreak(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		m := newManager(t, s, nil)
		h := mustTry(t, m, "a")
		s.breakLease("a", 10*time.Second)
		h.Renew(t.Context())
		m.mu.Lock()
		m.apply(h, m.clock.now(), Lease{TTL: time.Minute, Token: h.token}, nil, m.clock.now())
		m.apply(h, m.clock.now(), Lease{}, &Error{Reason: ReasonMaxRenewals}, m.clock.now())
		m.mu.Unlock()
		time.Sleep(9 * time.Second)
		wantLost(t, h, ReasonBroken)
	})
}
