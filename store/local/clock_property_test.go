package local

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/leasehold/leasehold"
)

// TestClockNeverRunsAhead lets processes live, die and start again on a machine
// whose clocks are stepped, that sleeps and reboots. No lease ends before its
// time; none lasts longer without one of the excuses that the rule names.
func TestClockNeverRunsAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// The wrapper hides t.Deadline, which a bubble does not allow.
		rapid.Check(struct{ rapid.TB }{t}, func(t *rapid.T) { newLife(t).run() })
	})
}

// life is one course of events, with the real time beside it.
type life struct {
	t       *rapid.T
	machine computer
	disk    *disk
	engine  *Engine // nil while no process runs
	real    time.Duration
	awake   time.Duration // since the process started, or the machine woke

	ttl     time.Duration
	granted time.Duration // in real time
	excuse  time.Duration // by how much the lease may outlast its ttl
	saved   time.Duration // the last commit, in real time; not later than it was
}

func newLife(t *rapid.T) *life {
	l := &life{t: t, disk: newDisk()}
	l.machine.boot("boot 0")
	readClocks = l.machine.read
	l.start()
	l.grant()
	return l
}

func (l *life) run() {
	defer func() {
		readClocks = systemClocks
		if l.engine != nil {
			l.engine.Close()
		}
	}()
	for i := range 30 {
		synctest.Wait() // or a process would see half an event
		amount := time.Duration(rapid.IntRange(0, 20_000).Draw(l.t, "milliseconds")) * time.Millisecond
		switch rapid.SampledFrom([]string{"pass", "suspend", "step ahead", "step back", "kill", "close", "start", "reboot", "namespace"}).Draw(l.t, "event") {
		case "pass":
			l.pass(amount)
		case "suspend":
			l.real += amount
			l.machine.set(func() { l.machine.suspended += amount; l.machine.step += amount })
			l.awake = 0
			l.pass(maxReadingAge)
		case "step ahead":
			l.machine.set(func() { l.machine.step += amount })
		case "step back":
			l.machine.set(func() { l.machine.step -= amount })
			l.excuse += amount // if nobody runs, the rule believes the wall clock
		case "kill":
			l.stop(false)
		case "close":
			l.stop(true)
		case "start":
			l.start()
		case "reboot":
			l.stop(false)
			l.machine.boot(fmt.Sprint("boot ", i+1))
		case "namespace":
			if l.engine == nil {
				l.machine.set(func() { l.machine.namespace += "'"; l.machine.offset = amount })
			}
		}
		l.check()
	}
}

func (l *life) pass(d time.Duration) {
	time.Sleep(d)
	l.real += d
	if l.engine == nil {
		return
	}
	synctest.Wait()
	if l.awake += d; l.awake > time.Second {
		l.saved = max(l.saved, l.real-time.Second) // saved once a second
	}
}

func (l *life) start() {
	if l.engine != nil {
		return
	}
	if now, _ := readClocks(); !now.sameBoot(l.disk.state.Reading) {
		l.excuse += l.real - l.saved // nobody knows how long that was
		l.saved = l.real
	}
	e, err := Open(context.Background(), l.disk, nil)
	if err != nil {
		l.t.Fatalf("Open = %v", err)
	}
	l.engine, l.awake = e, 0
}

func (l *life) stop(clean bool) {
	if l.engine == nil {
		return
	}
	synctest.Wait()
	if clean {
		l.engine.Close()
		l.saved = l.real
	} else {
		l.disk = kill(l.engine, l.disk)
	}
	l.engine = nil
}

// grant takes a new lease, which has no excuse yet.
func (l *life) grant() {
	l.ttl = time.Duration(rapid.IntRange(1, 60).Draw(l.t, "ttl")) * time.Second
	r := leasehold.AcquireRequest{Resource: "r", Holder: "a", TTL: l.ttl}
	if _, err := l.engine.Acquire(context.Background(), r); err != nil {
		l.t.Fatalf("Acquire = %v", err)
	}
	l.granted, l.excuse, l.saved = l.real, 0, l.real
}

func (l *life) check() {
	if l.engine == nil {
		return
	}
	s, err := l.engine.Status(context.Background(), "r")
	if err != nil {
		l.t.Fatalf("Status = %v", err)
	}
	age := l.real - l.granted
	switch {
	case !s.Locked() && age < l.ttl:
		l.t.Fatalf("a lease of %v ended after %v", l.ttl, age)
	case s.Locked() && age >= l.ttl+l.excuse:
		l.t.Fatalf("a lease of %v lives after %v; at most %v more can be excused", l.ttl, age, l.excuse)
	case !s.Locked():
		l.grant()
	}
}
