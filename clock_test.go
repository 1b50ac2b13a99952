package leasehold

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// fakeHost suspends the machine: the store's time passes, the process's does not.
type fakeHost struct{ suspended atomic.Int64 }

func newFakeHost(t testing.TB) *fakeHost {
	var f fakeHost
	was := clockOffset
	clockOffset = f.offset
	t.Cleanup(func() { clockOffset = was })
	return &f
}

func (f *fakeHost) suspend(d time.Duration) { f.suspended.Add(int64(d)) }
func (f *fakeHost) offset() time.Duration   { return time.Duration(f.suspended.Load()) }
func (f *fakeHost) store() (s *fakeStore)   { s = newFakeStore(); s.extra = f.offset; return s }

// TestSuspendLosesALease: a timer that stops while the machine is suspended
// must not keep a lease.
func TestSuspendLosesALease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := newFakeHost(t)
		var log recorder
		m := newManager(t, host.store(), &Options{Observe: log.observe})
		byErr, byContext, renewed := mustTry(t, m, "a"), mustTry(t, m, "b"), mustTry(t, m, "c")
		ctx := byContext.Context()
		time.Sleep(10 * time.Second)
		host.suspend(45 * time.Second) // 55 s in all: past the line, not yet the ttl
		wantLost(t, byErr, ReasonExpired)
		wantErr(t, "Renew after the suspend", renewed.Renew(t.Context()), ErrLost)
		resumed := time.Now()
		<-ctx.Done()
		if late := time.Since(resumed); late > wakeInterval {
			t.Errorf("the context ended %v after the machine resumed, want %v at most", late, wakeInterval)
		}
		wantLost(t, byContext, ReasonExpired)
		if got := log.kinds(); len(got) != 3 || got[0] != "Lost" {
			t.Errorf("events = %v, want three times Lost", got)
		}
	})
}

func TestShortSuspendRenewsOnResuming(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := newFakeHost(t)
		s := host.store()
		m := newManager(t, s, nil)
		h := mustTry(t, m, "a")
		infinite := mustTry(t, m, "b", AcquireOptions{TTL: Infinite})
		for range 10 {
			host.suspend(50 * time.Second) // past the time to renew, not past the line
			time.Sleep(time.Second)
			wantHeld(t, h)
		}
		if h.Renewals() != 10 || infinite.Renewals() < 10 {
			t.Errorf("Renewals() = %d and %d, want one on each resuming", h.Renewals(), infinite.Renewals())
		}
		host.suspend(24 * time.Hour)
		time.Sleep(time.Second)
		wantLost(t, h, ReasonExpired)
		wantHeld(t, infinite)
	})
}

// TestAnswerAfterSuspend: a renewal in flight succeeds, but its answer arrives
// after the machine resumed.
func TestAnswerAfterSuspend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := newFakeHost(t)
		s := host.store()
		m := newManager(t, s, nil)
		h := mustTry(t, m, "a")
		s.hook(nil, func(context.Context, string, string) error {
			host.suspend(70 * time.Second)
			return nil
		})
		time.Sleep(41 * time.Second)
		wantLost(t, h, ReasonExpired)
		s.hook(nil, nil)
		mustTry(t, newManager(t, s, nil), "a")
	})
}

func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var offset time.Duration
		was := clockOffset
		defer func() { clockOffset = was }()
		clockOffset = func() time.Duration { return offset }
		offset = time.Hour // what happened before does not count
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
		offset += time.Minute
		check("a minute suspended", time.Second+time.Minute)
		check("nothing more", time.Second+time.Minute)
		offset += minSuspend / 2
		check("a flicker", time.Second+time.Minute)
		offset -= minSuspend / 2
		offset -= time.Hour
		check("a wall clock set back", time.Second+time.Minute+time.Hour)
		time.Sleep(time.Second)
		check("another second", 2*time.Second+time.Minute+time.Hour)
	})
}

// TestClockIgnoresAnInterruptedReading: a process stopped between the readings
// of the two clocks was not suspended.
func TestClockIgnoresAnInterruptedReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads := 0
		c := &clock{start: time.Now(), offset: func() time.Duration {
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
	for name, offset := range map[string]func() time.Duration{"system": systemOffset(), "wall": wallOffset} {
		c := &clock{start: time.Now(), offset: offset, last: offset()}
		if now := c.now(); now < 0 || now > time.Minute {
			t.Errorf("%s clock: now() = %v right after the start", name, now)
		}
	}
}
