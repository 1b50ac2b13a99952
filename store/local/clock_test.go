package local

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
)

// computer is a machine whose clocks a test moves. While it is awake they go
// with the bubble's.
type computer struct {
	mu                sync.Mutex
	bootID, namespace string
	booted            time.Time     // by Go's clock
	suspended         time.Duration // since the boot
	offset            time.Duration // of the boot clock, as in a time namespace
	step              time.Duration // of the wall clock
}

// newComputer makes the package read this machine's clocks.
func newComputer(t testing.TB) *computer {
	was := readClocks
	t.Cleanup(func() { readClocks = was })
	c := &computer{}
	c.boot("boot 1")
	readClocks = c.read
	return c
}

func (c *computer) boot(id string) {
	c.set(func() { c.bootID, c.booted, c.suspended = id, time.Now(), 0 })
}

// set changes the clocks between two readings.
func (c *computer) set(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

func (c *computer) read() (Reading, time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	awake := time.Since(c.booted)
	return Reading{
		BootID: c.bootID, TimeNamespace: c.namespace,
		Boot: awake + c.suspended + c.offset,
		Wall: time.Now().Add(c.step).UnixNano(),
	}, awake + c.offset
}

// suspend lets the machine sleep: the process's clock stands still.
func (c *computer) suspend(d time.Duration) {
	c.set(func() { c.suspended += d; c.step += d })
	time.Sleep(maxReadingAge) // a bubble's wall clock cannot show what happened
}

// kill ends the engine as kill -9 would: nothing more reaches the disk. It
// returns the disk as the next process finds it.
func kill(e *Engine, d *disk) *disk {
	synctest.Wait()
	d.mu.Lock()
	left := &disk{
		rows: maps.Clone(d.rows), records: slices.Clone(d.records),
		state: JournalState{Counters: d.state.Counters, Settings: maps.Clone(d.state.Settings)},
	}
	d.mu.Unlock()
	e.Close()
	return left
}

// left returns how long the lease on the resource has left.
func left(t testing.TB, e *Engine, resource string) time.Duration {
	t.Helper()
	s, err := e.Status(context.Background(), resource)
	if err != nil {
		t.Fatalf("Status(%q) = %v", resource, err)
	}
	if !s.Locked() {
		return 0
	}
	return s.Lease.Remaining
}

// A lease that a dead process left behind ends when it said it would, however
// the clocks were treated meanwhile; where nobody can know how long that was, no
// time has passed.
func TestTimeAcrossRestarts(t *testing.T) {
	const ttl, lived, down = time.Minute, 10 * time.Second, 20 * time.Second
	for name, c := range map[string]struct {
		meanwhile func(*computer, *disk)
		want      time.Duration
	}{
		"same boot":           {func(*computer, *disk) {}, ttl - lived - down},
		"suspended":           {func(c *computer, _ *disk) { c.suspended += 15 * time.Second; c.step += 15 * time.Second }, ttl - lived - down - 15*time.Second},
		"past its end":        {func(c *computer, _ *disk) { c.suspended += time.Hour; c.step += time.Hour }, 0},
		"another boot":        {func(c *computer, _ *disk) { c.bootID = "boot 2" }, ttl - lived},
		"another namespace":   {func(c *computer, _ *disk) { c.namespace = "time:[2]" }, ttl - lived},
		"no boot clock now":   {func(c *computer, _ *disk) { c.bootID = "" }, ttl - lived},
		"no boot id saved":    {func(_ *computer, d *disk) { d.state.Reading = Reading{} }, ttl - lived},
		"wall clock ahead":    {func(c *computer, _ *disk) { c.step = 48 * time.Hour }, ttl - lived - down},
		"wall clock back":     {func(c *computer, _ *disk) { c.step = -48 * time.Hour }, ttl - lived},
		"wall clock bit back": {func(c *computer, _ *disk) { c.step = -5 * time.Second }, ttl - lived - down + 5*time.Second},
		"boot clock ahead":    {func(c *computer, _ *disk) { c.offset = 48 * time.Hour }, ttl - lived - down},
		"boot clock back":     {func(c *computer, _ *disk) { c.offset = -48 * time.Hour }, ttl - lived},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				machine, d := newComputer(t), newDisk()
				e := open(t, d)
				acquire(t, e, "r", "a", ttl)
				time.Sleep(lived)
				d = kill(e, d)
				time.Sleep(down)
				machine.set(func() { c.meanwhile(machine, d) })
				e = open(t, d)
				if got := left(t, e, "r"); got != c.want {
					t.Errorf("%v left of the lease, want %v", got, c.want)
				}
				if c.want == 0 {
					acquire(t, e, "r", "b", ttl)
				}
			})
		})
	}
}

// Without a boot clock no process counts the downtime.
func TestTwoProcessesWithoutABootClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine, d := newComputer(t), newDisk()
		machine.boot("")
		e := open(t, d)
		acquire(t, e, "r", "a", time.Minute)
		d = kill(e, d)
		time.Sleep(time.Hour)
		if got := left(t, open(t, d), "r"); got != time.Minute {
			t.Errorf("%v left, want all of it", got)
		}
	})
}

// Commands that open the file for a moment each, none of them for a second.
func TestTimePassesBetweenShortProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		newComputer(t)
		d := newDisk()
		e := open(t, d)
		acquire(t, e, "r", "a", 3*time.Second)
		for range 29 {
			d = kill(e, d)
			time.Sleep(100 * time.Millisecond)
			e = open(t, d)
			_, err := e.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "b"})
			wantReason(t, "Acquire before the end", err, leasehold.ReasonHeld)
		}
		time.Sleep(100 * time.Millisecond)
		acquire(t, e, "r", "b", time.Minute)
	})
}

// After a reboot the clock is saved at once, though the process does not live for
// a second.
func TestTimeIsSavedAtOnceOnAnotherBoot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine, d := newComputer(t), newDisk()
		e := open(t, d)
		acquire(t, e, "r", "a", time.Minute)
		d = kill(e, d)
		machine.boot("boot 2")
		d = kill(open(t, d), d)
		time.Sleep(20 * time.Second)
		if got := left(t, open(t, d), "r"); got != 40*time.Second {
			t.Errorf("%v left, want 40s: a process of this boot had seen the lease", got)
		}
	})
}

// The engine's time counts suspend, which the process's clock does not.
func TestSuspendEndsLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := newComputer(t)
		machine.set(func() { machine.suspended = time.Hour }) // before the engine: does not count
		e := open(t, newDisk())
		g := acquire(t, e, "r", "a", time.Minute)
		w := wait(t.Context(), e, leasehold.AcquireRequest{Resource: "r", Holder: "b", Timeout: time.Hour})
		machine.suspend(30 * time.Second)
		if got := left(t, e, "r"); got != 30*time.Second-maxReadingAge {
			t.Errorf("%v left after 30 s of suspend, want 30s less %v", got, maxReadingAge)
		}
		machine.suspend(30 * time.Second)
		_, err := e.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID})
		wantReason(t, "Renew past the end", err, leasehold.ReasonExpired)
		woke := time.Now()
		if a := <-w; a.err != nil || time.Since(woke) > time.Second {
			t.Errorf("the waiter got %v after %v, want the lease within a second", a.err, time.Since(woke))
		}
	})
}

// A process that is held up between two readings of clocks must not take that
// for suspend, nor for downtime.
func TestHeldUpBetweenReadings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := newComputer(t)
		holdUp := func() { time.Sleep(time.Duration(rand.IntN(3)) * 10 * time.Millisecond) }
		readClocks = func() (Reading, time.Duration) {
			holdUp()
			r, _ := machine.read()
			holdUp()
			_, awake := machine.read()
			holdUp()
			return r, awake
		}
		began := time.Now()
		c := startClock(Counters{})
		for range 1000 {
			time.Sleep(5 * time.Millisecond)
			c.now()
			saved, reading := c.save()
			c = startClock(Counters{Clock: saved, Reading: reading})
			if now := time.Duration(c.now().Clock); now > time.Since(began) {
				t.Fatalf("the engine's clock shows %v after %v", now, time.Since(began))
			}
		}
	})
}

// A crash of the machine loses the time since the last commit, which is at most
// a second while leases live: the lease gets longer by that, never shorter.
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

func TestWallClockStepsEndNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := newComputer(t)
		e := open(t, newDisk())
		g := acquire(t, e, "r", "a", time.Minute)

		machine.set(func() { machine.step = 48 * time.Hour })
		time.Sleep(maxReadingAge)
		if got := left(t, e, "r"); got != time.Minute-maxReadingAge {
			t.Errorf("%v left after a step ahead, want the minute less %v", got, maxReadingAge)
		}
		if until := time.Until(g.ExpiresAt); until != time.Minute-maxReadingAge {
			t.Errorf("ExpiresAt is %v ahead, want a minute less %v", until, maxReadingAge)
		}
		machine.set(func() { machine.step = -48 * time.Hour })
		time.Sleep(time.Minute)
		_, err := e.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID})
		wantReason(t, "Renew past the end, the wall clock set back", err, leasehold.ReasonExpired)
	})
}

// The boot clock goes by Go's clock in a bubble, and by the machine's outside.
func TestSystemClocks(t *testing.T) {
	real, _ := machineClocks()
	if r, _ := systemClocks(); r.Boot < real.Boot || r.Boot > real.Boot+time.Hour {
		t.Errorf("the boot clock shows %v, the machine's shows %v", r.Boot, real.Boot)
	}
	synctest.Test(t, func(t *testing.T) {
		before, awake := systemClocks()
		time.Sleep(time.Minute)
		after, later := systemClocks()
		if after.Boot-before.Boot != time.Minute || later-awake != time.Minute || downtime(before, after) != time.Minute && after.BootID != "" {
			t.Errorf("a minute in a bubble = %v, awake %v, downtime %v", after.Boot-before.Boot, later-awake, downtime(before, after))
		}
	})
}
