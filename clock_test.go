package leasehold

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// laptop lets the machine sleep: the store's time passes, the process's does
// not.
type laptop struct{ gap atomic.Int64 }

func newLaptop(t testing.TB) *laptop {
	var l laptop
	was := asleep
	asleep = l.slept
	t.Cleanup(func() { asleep = was })
	return &l
}

func (l *laptop) sleep(d time.Duration) { l.gap.Add(int64(d)) }
func (l *laptop) slept() time.Duration  { return time.Duration(l.gap.Load()) }
func (l *laptop) store() (s *fakeStore) { s = newFakeStore(); s.extra = l.slept; return s }

// TestSleepLosesALease: a timer that stops while the machine sleeps must not
// keep a lease.
func TestSleepLosesALease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lid := newLaptop(t)
		var log recorder
		m := newManager(t, lid.store(), &Options{Observe: log.observe})
		byErr, byContext, renewed := mustTry(t, m, "a"), mustTry(t, m, "b"), mustTry(t, m, "c")
		ctx := byContext.Context()
		time.Sleep(10 * time.Second)
		lid.sleep(45 * time.Second) // 55 s in all: past the line, not yet the ttl
		lostBy(t, byErr, ReasonExpired)
		wantErr(t, "Renew after the sleep", renewed.Renew(t.Context()), ErrLost)
		woke := time.Now()
		<-ctx.Done()
		if late := time.Since(woke); late > wakeEvery {
			t.Errorf("the context ended %v after the machine woke, want %v at most", late, wakeEvery)
		}
		lostBy(t, byContext, ReasonExpired)
		if got := log.kinds(); len(got) != 3 || got[0] != "Lost" {
			t.Errorf("events = %v, want three times Lost", got)
		}
	})
}

func TestShortSleepRenewsOnWaking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lid := newLaptop(t)
		s := lid.store()
		m := newManager(t, s, nil)
		h := mustTry(t, m, "a")
		infinite := mustTry(t, m, "b", AcquireOptions{TTL: Infinite})
		for range 10 {
			lid.sleep(50 * time.Second) // past the time to renew, not past the line
			time.Sleep(time.Second)
			stillHeld(t, h)
		}
		if h.Renewals() != 10 || infinite.Renewals() < 10 {
			t.Errorf("Renewals() = %d and %d, want one on each waking", h.Renewals(), infinite.Renewals())
		}
		lid.sleep(24 * time.Hour)
		time.Sleep(time.Second)
		lostBy(t, h, ReasonExpired)
		stillHeld(t, infinite)
	})
}

// TestAnswerAfterSleep: a renewal that was under way when the lid closed, and
// whose answer says yes when it opens.
func TestAnswerAfterSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lid := newLaptop(t)
		s := lid.store()
		m := newManager(t, s, nil)
		h := mustTry(t, m, "a")
		s.hook(nil, func(context.Context, string, string) error {
			lid.sleep(70 * time.Second)
			return nil
		})
		time.Sleep(41 * time.Second)
		lostBy(t, h, ReasonExpired)
		s.hook(nil, nil)
		mustTry(t, newManager(t, s, nil), "a")
	})
}

func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gap time.Duration
		was := asleep
		defer func() { asleep = was }()
		asleep = func() time.Duration { return gap }
		gap = time.Hour // what happened before does not count
		c := newClock()
		check := func(what string, want time.Duration) {
			t.Helper()
			if got := c.now(); got != want {
				t.Errorf("now() after %s = %v, want %v", what, got, want)
			}
		}
		check("the start", 0)
		time.Sleep(time.Second)
		check("a second", time.Second)
		gap += time.Minute
		check("a minute asleep", time.Second+time.Minute)
		check("nothing more", time.Second+time.Minute)
		gap += slack / 2
		check("a flicker", time.Second+time.Minute)
		gap -= slack / 2
		gap -= time.Hour
		check("a wall clock set back", time.Second+time.Minute+time.Hour)
		time.Sleep(time.Second)
		check("another second", 2*time.Second+time.Minute+time.Hour)
	})
}

// TestClockIgnoresAnInterruptedReading: a process stopped between the readings
// of the two clocks has not slept.
func TestClockIgnoresAnInterruptedReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads := 0
		c := &clock{start: time.Now(), gap: func() time.Duration {
			if reads++; reads%2 == 1 {
				return time.Minute
			}
			return 0
		}}
		if got := c.now(); got != 0 {
			t.Errorf("now() = %v, want 0", got)
		}
	})
}

// TestSystemClocks reads the real ones: whatever they show, they agree with
// themselves while the machine is awake.
func TestSystemClocks(t *testing.T) {
	for name, gap := range map[string]func() time.Duration{"system": systemGap(), "wall": wallGap} {
		c := &clock{start: time.Now(), gap: gap, last: gap()}
		if now := c.now(); now < 0 || now > time.Minute {
			t.Errorf("%s clock: now() = %v right after the start", name, now)
		}
	}
}
