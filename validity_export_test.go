package leasehold

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

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
				s.before = failing(&Error{Reason: ReasonUnavailable})
				if err := h.Renew(t.Context()); !errors.Is(err, ErrUnavailable) {
					t.Fatalf("Renew = %v, want %v", err, ErrUnavailable)
				}
				wantRemaining(t, "after a failure", h, 9*time.Second, 9*time.Second)
			})
		})
	}
}
