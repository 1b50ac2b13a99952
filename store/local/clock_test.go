package local

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
)

// Time does not pass while the engine is down, however long that is, and the
// wall clock has no say in it.
func TestTimeStandsStillWhileDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		e := open(t, d)
		g := acquire(t, e, "r", "a", time.Minute)
		time.Sleep(20 * time.Second)
		e.Close()
		time.Sleep(24 * time.Hour)

		e = open(t, d)
		l, err := e.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID, TTL: 10 * time.Second})
		if err != nil {
			t.Fatalf("Renew after a day of downtime = %v", err)
		}
		if want := 10 * time.Second; l.Remaining != want {
			t.Errorf("Remaining = %v, want %v", l.Remaining, want)
		}
		time.Sleep(10 * time.Second)
		_, err = e.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID})
		wantReason(t, "Renew at the end", err, leasehold.ReasonExpired)
	})
}

// A crash loses the time since the last commit, which is at most a second
// while leases live: the lease gets longer by that, never shorter.
func TestClockIsSavedEverySecondWhileLeasesLive(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		time.Sleep(time.Hour)
		synctest.Wait()
		if d.commits > 0 {
			t.Fatalf("%d commits of an idle engine, want none", d.commits)
		}
		acquire(t, e, "r", "a", 10*time.Minute)
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		for i := 1; i < len(d.clocks); i++ {
			if step := time.Duration(d.clocks[i] - d.clocks[i-1]); step > time.Second+10*time.Millisecond {
				t.Fatalf("the clock was not saved for %v", step)
			}
		}
		if n := len(d.clocks); n < 299 || n > 310 {
			t.Errorf("%d commits in 300 s, want about one a second", n)
		}
	})
}

func TestWallClockStepsJudgeNothing(t *testing.T) {
	defer func() { wallTime = time.Now }()
	synctest.Test(t, func(t *testing.T) {
		var step atomic.Int64
		wallTime = func() time.Time { return time.Now().Add(time.Duration(step.Load())) }
		d := newDisk()
		e := open(t, d)
		g := acquire(t, e, "r", "a", time.Minute)

		step.Store(int64(48 * time.Hour))
		if s, err := e.Status(t.Context(), "r"); err != nil || !s.Locked() || s.Lease.Remaining != time.Minute {
			t.Errorf("after a step ahead: Status = %+v, %v, want the lease with a minute left", s.Lease, err)
		}
		if left := time.Until(g.ExpiresAt); left != time.Minute {
			t.Errorf("ExpiresAt is %v ahead, want a minute", left)
		}
		step.Store(int64(-48 * time.Hour))
		time.Sleep(time.Minute)
		_, err := e.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID})
		wantReason(t, "Renew past the end, the wall clock set back", err, leasehold.ReasonExpired)

		g = acquire(t, e, "r", "a", time.Minute)
		time.Sleep(30 * time.Second)
		e.Close()
		step.Store(int64(-1000 * time.Hour))
		e = open(t, d)
		s, err := e.Status(t.Context(), "r")
		if err != nil || !s.Check(g.Token) || s.Lease.Remaining != 30*time.Second {
			t.Errorf("after a step while down: Status = %+v, %v, want 30 s left", s.Lease, err)
		}
	})
}
