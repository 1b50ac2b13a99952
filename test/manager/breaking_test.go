package manager_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold/leasehold"
)

// breakLease breaks the lease; a period of zero frees the resource at once.
func breakLease(t *testing.T, s *hookedStore, resource string, period time.Duration) {
	t.Helper()
	if _, err := s.Break(t.Context(), leasehold.BreakRequest{Resource: resource, Period: &period}); err != nil {
		t.Fatalf("Break(%q, %v) = %v", resource, period, err)
	}
}

// TestBreaking: the work may go on until a margin before the period's end.
func TestBreaking(t *testing.T) {
	for name, ttl := range map[string]time.Duration{"finite": time.Minute, "infinite": leasehold.Infinite} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStore(t)
				var log recorder
				m := newManager(t, s, &leasehold.Options{TTL: ttl, RenewInterval: 30 * time.Second, Observe: log.observe})
				h := mustTry(t, m, "a")
				time.Sleep(25 * time.Second)
				breakLease(t, s, "a", 15*time.Second) // ends at 40 s; noticed at 30 s
				time.Sleep(6 * time.Second)
				wantHeld(t, h)
				events, kinds := log.all()
				if diff := cmp.Diff([]string{"Breaking"}, kinds); diff != "" {
					t.Fatalf("events -want +got:\n%s", diff)
				}
				if left := events[0].(leasehold.Breaking).Remaining; left != 10*time.Second {
					t.Errorf("Breaking.Remaining = %v, want 10s", left)
				}
				if err := h.Renew(t.Context()); !errors.Is(err, leasehold.ErrHeld) {
					t.Errorf("Renew while breaking = %v, want ErrHeld", err)
				}
				wantHeld(t, h)
				<-h.Context().Done()
				status, err := s.engine.Status(t.Context(), "a")
				if err != nil {
					t.Fatal(err)
				}
				if left := status.Lease.Remaining; left <= 0 || left > time.Second {
					t.Errorf("the context ended %v before the period, want a margin of about 1s", left)
				}
				wantLost(t, h, leasehold.ReasonBroken)
				time.Sleep(time.Minute)
				_, kinds = log.all()
				if diff := cmp.Diff([]string{"Breaking", "Lost"}, kinds); diff != "" || s.count("renew") != 2 {
					t.Errorf("%d renewals, events -want +got:\n%s", s.count("renew"), diff)
				}
			})
		})
	}
}

// TestBreakingNeverLengthens: the line of the last success stays.
func TestBreakingNeverLengthens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		m := newManager(t, s, nil)
		h := mustTry(t, m, "a")
		start := time.Now()
		breakLease(t, s, "a", leasehold.MaxBreakPeriod) // as long as the lease itself
		<-h.Context().Done()
		if got := time.Since(start); got != 54*time.Second {
			t.Errorf("lost after %v, want 54s", got)
		}
		wantLost(t, h, leasehold.ReasonBroken)
	})
}

// TestBreakingAnswers: what is left of the period, as different stores answer it.
func TestBreakingAnswers(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer *leasehold.Error
		line   time.Duration // after the renewal
	}{
		{"remaining", &leasehold.Error{Reason: leasehold.ReasonBreaking, Remaining: 5 * time.Second}, 4500 * time.Millisecond},
		{"current", &leasehold.Error{Reason: leasehold.ReasonBreaking, Current: &leasehold.Lease{Remaining: 5 * time.Second}}, 4500 * time.Millisecond},
		{"nothing", &leasehold.Error{Reason: leasehold.ReasonBreaking}, 0},
		{"infinite", &leasehold.Error{Reason: leasehold.ReasonBreaking, Current: &leasehold.Lease{Remaining: leasehold.Infinite}}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStore(t)
				s.setHook(failRenewals(c.answer))
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

// TestMaxRenewals: the lease lives on to its line.
func TestMaxRenewals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		var log recorder
		m := newManager(t, s, &leasehold.Options{Observe: log.observe})
		two := 2
		h := mustTry(t, m, "a", leasehold.AcquireOptions{MaxRenewals: &two})
		start := time.Now()
		<-h.Context().Done()
		if got := time.Since(start); got != 80*time.Second+54*time.Second {
			t.Errorf("lost after %v, want 54s after the second renewal", got)
		}
		wantLost(t, h, leasehold.ReasonMaxRenewals)
		_, kinds := log.all()
		if diff := cmp.Diff([]string{"Renewed", "Renewed", "RenewalFailed", "Lost"}, kinds); diff != "" || s.count("renew") != 3 {
			t.Errorf("%d renewals, events -want +got:\n%s", s.count("renew"), diff)
		}
	})
}

func TestInfiniteLeaseIsVerified(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		m := newManager(t, s, nil)
		h := mustTry(t, m, "a", leasehold.AcquireOptions{TTL: leasehold.Infinite})
		if !h.ExpiresAt().IsZero() {
			t.Errorf("ExpiresAt() = %v, want none", h.ExpiresAt())
		}
		time.Sleep(10*time.Minute + time.Second)
		if n := s.count("renew"); n != 20 {
			t.Errorf("%d renewals in 10m, want one every 30s", n)
		}
		s.setHook(failRenewals(&leasehold.Error{Reason: leasehold.ReasonUnavailable}))
		time.Sleep(3 * time.Hour)
		wantHeld(t, h) // it cannot run out, so an outage does not lose it
		s.setHook(nil)
		breakLease(t, s, "a", 0)
		time.Sleep(30 * time.Second)
		wantLost(t, h, leasehold.ReasonBroken)
	})
}

// TestInfiniteLeaseWithoutRenewals cannot be renewed to see whether it is still
// there, so its status is read.
func TestInfiniteLeaseWithoutRenewals(t *testing.T) {
	none := 0
	for _, c := range []struct {
		name   string
		change func(*testing.T, *hookedStore)
		reason leasehold.Reason
	}{
		{"still there", func(*testing.T, *hookedStore) {}, ""},
		{"store down", func(_ *testing.T, s *hookedStore) {
			s.setHook(func(context.Context, string, string) error {
				return &leasehold.Error{Reason: leasehold.ReasonUnavailable}
			})
		}, ""},
		{"broken", func(t *testing.T, s *hookedStore) { breakLease(t, s, "a", 0) }, leasehold.ReasonNotFound},
		{"breaking", func(t *testing.T, s *hookedStore) { breakLease(t, s, "a", leasehold.MaxBreakPeriod) }, leasehold.ReasonBroken},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStore(t)
				m := newManager(t, s, nil)
				h := mustTry(t, m, "a", leasehold.AcquireOptions{TTL: leasehold.Infinite, MaxRenewals: &none})
				time.Sleep(10 * time.Minute)
				if s.count("renew") != 1 || s.count("status") < 18 {
					t.Errorf("%d renewals, %d looks at the status, want 1 and one every 30s", s.count("renew"), s.count("status"))
				}
				wantHeld(t, h)
				c.change(t, s)
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
