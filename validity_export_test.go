package leasehold

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func wantValidity(t *testing.T, when string, h *Held, line, end time.Duration) {
	t.Helper()
	gotLine, gotEnd := h.Remaining()
	if (gotLine-line).Abs() > time.Millisecond || (gotEnd-end).Abs() > time.Millisecond {
		t.Errorf("Remaining() %s = %v, %v, want %v, %v", when, gotLine, gotEnd, line, end)
	}
}

// TestValidity: a minute's lease has its line at 54 s and ends 602 ms early.
func TestValidity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		m := newManager(t, s, &Options{NoAutoRenew: true})
		h := mustTry(t, m, "a")
		wantValidity(t, "at first", h, 54*time.Second, 59398*time.Millisecond)
		time.Sleep(20 * time.Second)
		wantValidity(t, "later", h, 34*time.Second, 39398*time.Millisecond)
		if err := h.Renew(t.Context()); err != nil {
			t.Fatalf("Renew = %v", err)
		}
		wantValidity(t, "renewed", h, 54*time.Second, 59398*time.Millisecond)
		time.Sleep(55 * time.Second)
		wantValidity(t, "past the line", h, 0, 4398*time.Millisecond)
		time.Sleep(5 * time.Second)
		wantValidity(t, "past the end", h, 0, 0)
	})
}

func TestValidityOfAnEndedLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		m := newManager(t, s, &Options{NoAutoRenew: true})
		released, broken := mustTry(t, m, "released"), mustTry(t, m, "broken")
		if err := released.Release(t.Context()); err != nil {
			t.Fatalf("Release = %v", err)
		}
		wantValidity(t, "released", released, 0, 0)
		s.breakLease("broken", 0)
		if err := broken.Renew(t.Context()); !errors.Is(err, ErrLost) {
			t.Fatalf("Renew = %v, want %v", err, ErrLost)
		}
		wantValidity(t, "gone", broken, 0, 0)
	})
}

// TestValidityWhileBreaking: the end is never put later than the store's, even
// when what was left of the period has been forgotten.
func TestValidityWhileBreaking(t *testing.T) {
	for name, ttl := range map[string]time.Duration{"finite": time.Minute, "infinite": Infinite} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFakeStore()
				m := newManager(t, s, &Options{TTL: ttl, NoAutoRenew: true})
				h := mustTry(t, m, "a")
				if ttl == Infinite {
					wantValidity(t, "at first", h, Infinite, Infinite)
				}
				time.Sleep(20 * time.Second)
				s.breakLease("a", 10*time.Second)
				if err := h.Renew(t.Context()); ReasonOf(err) != ReasonBreaking {
					t.Fatalf("Renew = %v, want %v", err, ReasonBreaking)
				}
				wantValidity(t, "while breaking", h, 9*time.Second, 9898*time.Millisecond)
				s.before = failing(&Error{Reason: ReasonUnavailable})
				if err := h.Renew(t.Context()); !errors.Is(err, ErrUnavailable) {
					t.Fatalf("Renew = %v, want %v", err, ErrUnavailable)
				}
				wantValidity(t, "after a failure", h, 9*time.Second, 9*time.Second)
			})
		})
	}
}
