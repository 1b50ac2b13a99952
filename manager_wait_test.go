package leasehold

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// holdFor acquires a lease and releases it after a while.
func holdFor(t *testing.T, s Store, resource string, d time.Duration) {
	t.Helper()
	h := mustTry(t, newManager(t, s, nil), resource)
	time.AfterFunc(d, func() { h.Release(context.Background()) })
}

func TestAcquireInTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeQueue{fakeStore: newFakeStore()}
		holdFor(t, s, "a", 10*time.Minute)
		m := newManager(t, s, nil)
		start := time.Now()
		h, err := m.Acquire(t.Context(), "a", AcquireOptions{Priority: 7, Metadata: map[string]string{"k": "v"}})
		if err != nil {
			t.Fatalf("Acquire = %v", err)
		}
		if got := time.Since(start); got != 10*time.Minute {
			t.Errorf("Acquire took %v, want 10m: the release itself wakes", got)
		}
		for i, r := range s.waits {
			if r.ID != h.ID() || r.Priority != 7 || r.Timeout != maxQueueWait {
				t.Errorf("request %d = %+v, want the same id and priority each time: the place is kept", i, r)
			}
		}
		if n := len(s.waits); n != 12 && n != 13 {
			t.Errorf("%d requests in 10m, want one every %v", n, maxQueueWait)
		}
		time.Sleep(time.Minute)
		wantHeld(t, h)
	})
}

// TestAcquireWithoutQueue: a store without a queue.
func TestAcquireWithoutQueue(t *testing.T) {
	disabled := &Error{Reason: ReasonBlockingDisabled}
	for name, make := range map[string]func() (Store, *fakeStore){
		"no queue":       func() (Store, *fakeStore) { s := newFakeStore(); return s, s },
		"queue disabled": func() (Store, *fakeStore) { s := newFakeStore(); return &fakeQueue{fakeStore: s, refusal: disabled}, s },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, fake := make()
				holdFor(t, s, "a", 10*time.Minute)
				start := time.Now()
				h, err := newManager(t, s, nil).Acquire(t.Context(), "a")
				if err != nil {
					t.Fatalf("Acquire = %v", err)
				}
				if late := time.Since(start) - 10*time.Minute; late < 0 || late > 20*time.Second {
					t.Errorf("Acquire took 10m + %v, want four times the retry interval at most", late)
				}
				if n := fake.count("acquire"); n < 30 || n > 120 {
					t.Errorf("%d requests in 10m, want one every 5s to 20s", n)
				}
				wantHeld(t, h)
			})
		})
	}
}

// TestAcquireWakesWhenTheLeaseEnds: nobody renews the one in the way.
func TestAcquireWakesWhenTheLeaseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		mustTry(t, newManager(t, s, &Options{TTL: 2 * time.Second, NoAutoRenew: true}), "a")
		start := time.Now()
		if _, err := newManager(t, s, nil).Acquire(t.Context(), "a"); err != nil {
			t.Fatalf("Acquire = %v", err)
		}
		if got := time.Since(start); got < 2*time.Second || got > 2200*time.Millisecond {
			t.Errorf("Acquire took %v, want a little more than 2s", got)
		}
	})
}

func TestAcquireTimeout(t *testing.T) {
	for name, s := range map[string]func() Store{
		"queue":    func() Store { return &fakeQueue{fakeStore: newFakeStore()} },
		"no queue": func() Store { return newFakeStore() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := s()
				first := mustTry(t, newManager(t, s, &Options{Holder: "ann"}), "a")
				m := newManager(t, s, &Options{AcquireTimeout: 90 * time.Second})
				for _, c := range []struct {
					want AcquireOptions
					d    time.Duration
				}{{AcquireOptions{}, 90 * time.Second}, {AcquireOptions{Timeout: 7 * time.Second}, 7 * time.Second}} {
					start := time.Now()
					_, err := m.Acquire(t.Context(), "a", c.want)
					wantErr(t, "Acquire", err, ErrTimeout)
					var e *Error
					if errors.As(err, &e); e.Reason != ReasonTimeout || e.Waited != c.d || time.Since(start) != c.d {
						t.Errorf("Acquire = %v after %v, want acquire_timeout after %v", err, time.Since(start), c.d)
					}
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				_, err := m.Acquire(ctx, "a", AcquireOptions{Timeout: NoTimeout})
				wantErr(t, "Acquire until the context ends", err, ErrTimeout, context.DeadlineExceeded)
				wantHeld(t, first)
			})
		})
	}
}

// TestCancelledWait reports both causes.
func TestCancelledWait(t *testing.T) {
	for name, s := range map[string]func() Store{
		"queue":    func() Store { return &fakeQueue{fakeStore: newFakeStore()} },
		"no queue": func() Store { return newFakeStore() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := s()
				mustTry(t, newManager(t, s, &Options{Holder: "ann"}), "a")
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(3*time.Second, cancel)
				start := time.Now()
				_, err := newManager(t, s, nil).Acquire(ctx, "a")
				wantErr(t, "Acquire", err, context.Canceled, ErrTimeout)
				var e *Error
				if errors.As(err, &e); e.Waited != 3*time.Second || time.Since(start) != 3*time.Second {
					t.Errorf("Acquire = %v after %v, want 3s", err, time.Since(start))
				}
				if name == "no queue" {
					wantErr(t, "Acquire", err, ErrHeld)
					if e.Current == nil || e.Current.Holder != "ann" {
						t.Errorf("Acquire = %v, want it to name ann", err)
					}
				}
			})
		})
	}
}

// TestWaitWithoutEnd stops after 10,000 attempts.
func TestWaitWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		mustTry(t, newManager(t, s, &Options{TTL: Infinite}), "a")
		m := newManager(t, s, &Options{AcquireRetryInterval: time.Second})
		_, err := m.Acquire(context.Background(), "a")
		wantErr(t, "Acquire without an end", err, ErrTimeout, ErrHeld)
		if n := s.count("acquire"); n != 1+maxAttempts {
			t.Errorf("%d requests, want %d", n, 1+maxAttempts)
		}
	})
}

// TestAcquireWaitsOutFailures: failures of the store do not end a wait, and lost
// answers neither waste a grant nor leave one behind.
func TestAcquireWaitsOutFailures(t *testing.T) {
	for name, trouble := range map[string]error{
		"unavailable": &Error{Reason: ReasonUnavailable},
		"throttled":   &Error{Reason: ReasonRateLimited, RetryAfter: 3 * time.Second},
		"unknown":     &Error{Reason: ReasonUnknown},
		"foreign":     errors.New("no route to host"),
		"cancelled":   &Error{Reason: ReasonCancelled}, // by the store's own end
		"hasty":       &Error{Reason: ReasonTimeout},   // a wait that was none
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &fakeQueue{fakeStore: newFakeStore()}
				start := time.Now()
				down := func(_ context.Context, op, _ string) error {
					if time.Since(start) < 10*time.Minute {
						return trouble
					}
					return nil
				}
				s.hook(down, nil)
				if name == "unknown" {
					s.hook(nil, down) // it does happen, and the answer is lost
				}
				m := newManager(t, s, nil)
				h, err := m.Acquire(t.Context(), "a")
				if err != nil {
					t.Fatalf("Acquire = %v", err)
				}
				if late := time.Since(start) - 10*time.Minute; late < 0 || late > 6*time.Second || h.Token() != 1 {
					t.Errorf("Acquire took 10m + %v and got token %d, want soon after, and 1", late, h.Token())
				}
				if n := len(s.waits); n < 100 || n > 400 {
					t.Errorf("%d requests in 10m, want one every few seconds", n)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		s.before = func(context.Context, string, string) error { return &Error{Reason: ReasonUnavailable} }
		_, err := newManager(t, s, nil).Acquire(t.Context(), "a", AcquireOptions{Timeout: time.Minute})
		wantErr(t, "Acquire while the store is down", err, ErrTimeout, ErrUnavailable)
	})
}

// TestFinalErrorsEndTheWait: another request would not help.
func TestFinalErrorsEndTheWait(t *testing.T) {
	for _, reason := range []Reason{ReasonInvalid, ReasonForbidden, ReasonUnauthenticated, ReasonDeadlock, ReasonSuperseded, ReasonUnsupported} {
		synctest.Test(t, func(t *testing.T) {
			s := newFakeStore()
			refuse := func(context.Context, string, string) error { return &Error{Reason: reason} }
			s.hook(refuse, nil)
			start := time.Now()
			_, err := newManager(t, &fakeQueue{fakeStore: s}, nil).Acquire(t.Context(), "a")
			if ReasonOf(err) != reason || time.Since(start) != 0 {
				t.Errorf("Acquire = %v after %v, want %s at once", err, time.Since(start), reason)
			}
		})
	}
}

// TestUsedIDIsReplaced: the answer was lost, and so was the lease before the
// request was repeated.
func TestUsedIDIsReplaced(t *testing.T) {
	none := 0
	for name, c := range map[string]struct {
		want AcquireOptions
		lose func(*fakeStore) error
	}{
		"broken":      {AcquireOptions{}, func(s *fakeStore) error { s.breakLease("a", 0); return lostAnswer(context.Background()) }},
		"breaking":    {AcquireOptions{}, func(s *fakeStore) error { s.breakLease("a", time.Second); return lostAnswer(context.Background()) }},
		"no renewals": {AcquireOptions{MaxRenewals: &none}, func(s *fakeStore) error { return lostAnswer(context.Background()) }},
		"used by chance": {AcquireOptions{}, func(s *fakeStore) error {
			s.breakLease("a", 0)
			return &Error{Reason: ReasonIDInUse}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFakeStore()
				s.after = onNth("acquire", 1, func(context.Context) error { return c.lose(s) })
				start := time.Now()
				h, err := newManager(t, s, nil).Acquire(t.Context(), "a", c.want)
				if err != nil || h.Token() != 2 {
					t.Fatalf("Acquire = %v, %v, want a second lease", h, err)
				}
				if took := time.Since(start); took > 10*time.Second {
					t.Errorf("Acquire took %v, want a few seconds", took)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		s.before = func(context.Context, string, string) error { return &Error{Reason: ReasonIDInUse} }
		_, err := newManager(t, s, nil).Acquire(t.Context(), "a", AcquireOptions{ID: NewID()})
		wantErr(t, "Acquire with an id that is in use", err, ErrHeld)
	})
}

// TestHangingWaitIsRepeated: the connection is gone, with the grant in it.
func TestHangingWaitIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeQueue{fakeStore: newFakeStore()}
		s.after = onNth("wait", 1, func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) })
		start := time.Now()
		h, err := newManager(t, s, &Options{TTL: 5 * time.Minute}).Acquire(t.Context(), "a")
		if err != nil || h.Token() != 1 {
			t.Fatalf("Acquire = %v, %v, want the lease whose answer was lost", h, err)
		}
		if took := time.Since(start); took > maxQueueWait+2*answerGrace {
			t.Errorf("Acquire took %v, want %v", took, maxQueueWait+answerGrace)
		}
	})
}
