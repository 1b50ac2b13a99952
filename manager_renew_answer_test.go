package leasehold

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestBreaking: the work may go on until a margin before the period's end.
func TestBreaking(t *testing.T) {
	for name, ttl := range map[string]time.Duration{"finite": time.Minute, "infinite": Infinite} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFakeStore()
				var log recorder
				m := newManager(t, s, &Options{TTL: ttl, RenewInterval: 30 * time.Second, Observe: log.observe})
				h := mustTry(t, m, "a")
				time.Sleep(25 * time.Second)
				s.breakLease("a", 15*time.Second) // ends at 40 s; noticed at 30 s
				time.Sleep(6 * time.Second)
				wantHeld(t, h)
				if diff := cmp.Diff([]string{"Breaking"}, log.kinds()); diff != "" {
					t.Fatalf("events -want +got:\n%s", diff)
				}
				if left := log.all()[0].(Breaking).Remaining; left != 10*time.Second {
					t.Errorf("Breaking.Remaining = %v, want 10s", left)
				}
				wantErr(t, "Renew while breaking", h.Renew(t.Context()), ErrHeld)
				wantHeld(t, h)
				<-h.Context().Done()
				if left := s.state("a").Remaining; left <= 0 || left > time.Second {
					t.Errorf("the context ended %v before the period, want a margin of about 1s", left)
				}
				wantLost(t, h, ReasonBroken)
				time.Sleep(time.Minute)
				if diff := cmp.Diff([]string{"Breaking", "Lost"}, log.kinds()); diff != "" || s.count("renew") != 2 {
					t.Errorf("%d renewals, events -want +got:\n%s", s.count("renew"), diff)
				}
			})
		})
	}
}

// TestBreakingNeverLengthens: the line of the last success stays.
func TestBreakingNeverLengthens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		m := newManager(t, s, nil)
		h := mustTry(t, m, "a")
		start := time.Now()
		s.breakLease("a", MaxBreakPeriod) // as long as the lease itself
		<-h.Context().Done()
		if got := time.Since(start); got != 54*time.Second {
			t.Errorf("lost after %v, want 54s", got)
		}
		wantLost(t, h, ReasonBroken)
	})
}

// TestBreakingAnswers: what is left of the period, as different stores tell it.
func TestBreakingAnswers(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer *Error
		line   time.Duration // after the renewal
	}{
		{"remaining", &Error{Reason: ReasonBreaking, Remaining: 5 * time.Second}, 4500 * time.Millisecond},
		{"current", &Error{Reason: ReasonBreaking, Current: &Lease{Remaining: 5 * time.Second}}, 4500 * time.Millisecond},
		{"nothing", &Error{Reason: ReasonBreaking}, 0},
		{"infinite", &Error{Reason: ReasonBreaking, Current: &Lease{Remaining: Infinite}}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFakeStore()
				s.before = failing(c.answer)
				m := newManager(t, s, nil)
				h := mustTry(t, m, "a")
				start := time.Now()
				<-h.Context().Done()
				if got := time.Since(start); got != 40*time.Second+c.line {
					t.Errorf("lost after %v, want %v", got, 40*time.Second+c.line)
				}
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

// TestMaxRenewals: the lease lives on to its line.
func TestMaxRenewals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		var log recorder
		m := newManager(t, s, &Options{Observe: log.observe})
		two := 2
		h := mustTry(t, m, "a", AcquireOptions{MaxRenewals: &two})
		start := time.Now()
		<-h.Context().Done()
		if got := time.Since(start); got != 80*time.Second+54*time.Second {
			t.Errorf("lost after %v, want 54s after the second renewal", got)
		}
		wantLost(t, h, ReasonMaxRenewals)
		if diff := cmp.Diff([]string{"Renewed", "Renewed", "RenewalFailed", "Lost"}, log.kinds()); diff != "" || s.count("renew") != 3 {
			t.Errorf("%d renewals, events -want +got:\n%s", s.count("renew"), diff)
		}
	})
}

func TestInfiniteLeaseIsVerified(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		m := newManager(t, s, nil)
		h := mustTry(t, m, "a", AcquireOptions{TTL: Infinite})
		if !h.ExpiresAt().IsZero() {
			t.Errorf("ExpiresAt() = %v, want none", h.ExpiresAt())
		}
		time.Sleep(10*time.Minute + time.Second)
		if n := s.count("renew"); n != 20 {
			t.Errorf("%d renewals in 10m, want one every 30s", n)
		}
		s.hook(failing(&Error{Reason: ReasonUnavailable}), nil)
		time.Sleep(3 * time.Hour)
		wantHeld(t, h) // it cannot run out, so an outage does not lose it
		s.hook(nil, nil)
		s.breakLease("a", 0)
		time.Sleep(30 * time.Second)
		wantLost(t, h, ReasonBroken)
	})
}

// TestInfiniteLeaseWithoutRenewals cannot be renewed to see whether it is still
// there, so its status is read.
func TestInfiniteLeaseWithoutRenewals(t *testing.T) {
	none := 0
	for _, c := range []struct {
		name   string
		do     func(*fakeStore)
		reason Reason
	}{
		{"still there", func(*fakeStore) {}, ""},
		{"store down", func(s *fakeStore) {
			s.hook(func(context.Context, string, string) error { return &Error{Reason: ReasonUnavailable} }, nil)
		}, ""},
		{"broken", func(s *fakeStore) { s.breakLease("a", 0) }, ReasonNotFound},
		{"breaking", func(s *fakeStore) { s.breakLease("a", MaxBreakPeriod) }, ReasonBroken},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFakeStore()
				m := newManager(t, s, nil)
				h := mustTry(t, m, "a", AcquireOptions{TTL: Infinite, MaxRenewals: &none})
				time.Sleep(10 * time.Minute)
				if s.count("renew") != 1 || s.count("status") < 18 {
					t.Errorf("%d renewals, %d looks at the status, want 1 and one every 30s", s.count("renew"), s.count("status"))
				}
				wantHeld(t, h)
				c.do(s)
				time.Sleep(time.Minute)
				if c.reason == "" {
					wantHeld(t, h)
				} else {
					wantLost(t, h, c.reason)
				}
			})
		})
	}
}
