package local

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/leasehold/leasehold/machine"
)

// Many short turns lose no time, though the clocks are never read together.
func TestSharedClockLosesNothingInShortTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newComputer(t)
		_, saved := Counters{}.Advance()
		started, base := time.Now(), saved.Clock
		for range 20_000 {
			time.Sleep(time.Duration(rand.IntN(200)) * time.Microsecond)
			late := time.Duration(rand.IntN(300)) * time.Microsecond // between reading one and the other
			m.set(func() { m.step = late })
			_, saved = saved.Advance()
		}
		real := time.Since(started)
		if passed := time.Duration(saved.Clock - base); passed > real || passed < real-time.Millisecond {
			t.Errorf("the clock advanced by %v in %v", passed, real)
		}
	})
}

// Without a clock to compare no time passes, and the next turn counts from there.
func TestSharedClockOnAnotherBoot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, change := range map[string]func(*computer){
			"boot":      func(c *computer) { c.bootID = "boot 2" },
			"namespace": func(c *computer) { c.namespace = "time:[2]" },
			"none":      func(c *computer) { c.bootID = "" },
		} {
			m := newComputer(t)
			_, saved := Counters{Clock: 5}.Advance()
			time.Sleep(time.Minute)
			m.set(func() { change(m) })
			now, next := saved.Advance()
			if now.Clock != saved.Clock || next.Clock != saved.Clock {
				t.Errorf("%s: a minute on a clock that is another one moved it from %d to %d", name, saved.Clock, now.Clock)
			}
			time.Sleep(time.Second)
			want := saved.Clock + machine.Time(time.Second)
			if name == "none" {
				want = saved.Clock
			}
			if now, _ := next.Advance(); now.Clock != want {
				t.Errorf("%s: a second later it is %d, want %d", name, now.Clock, want)
			}
			if named := BootClock(); (named == "") != (name == "none") {
				t.Errorf("%s: BootClock() = %q", name, named)
			}
		}
	})
}

// Turns under clocks that step, sleep and reboot never get ahead of real time and
// never go back; an engine that follows continues where they stopped.
func TestSharedClockNeverRunsAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(struct{ rapid.TB }{t}, func(t *rapid.T) {
			var m computer
			m.boot("boot")
			readClocks = m.read
			defer func() { readClocks = systemClocks }()
			saved := Counters{}
			_, saved = saved.Advance()
			var real, lost time.Duration
			last, rebooted := real, false
			for range 40 {
				amount := time.Duration(rapid.IntRange(0, 5_000_000).Draw(t, "microseconds")) * time.Microsecond
				switch rapid.SampledFrom([]string{"pass", "pass", "suspend", "ahead", "back", "reboot"}).Draw(t, "event") {
				case "pass":
					time.Sleep(amount)
					real += amount
				case "suspend":
					real += amount
					m.set(func() { m.suspended += amount; m.step += amount })
				case "ahead":
					m.set(func() { m.step += amount })
				case "back":
					m.set(func() { m.step -= amount })
					lost += amount + maxApart
				case "reboot":
					m.boot(rapid.StringN(1, 8, 8).Draw(t, "boot"))
					rebooted = true
				}
				if !rapid.Bool().Draw(t, "turn") {
					continue
				}
				if rebooted {
					lost += real - last + maxApart
				}
				now, next := saved.Advance()
				if now.Clock < saved.Clock {
					t.Fatalf("the clock went back from %d to %d", saved.Clock, now.Clock)
				}
				if passed := time.Duration(now.Clock); passed > real || passed < real-lost {
					t.Fatalf("%v passed and the clock says %v; at most %v may be lost", real, passed, lost)
				}
				if c := startClock(saved); c.base != now.Clock {
					t.Fatalf("an engine would start at %d, the next turn is at %d", c.base, now.Clock)
				}
				saved, last, rebooted = next, real, false
			}
		})
	})
}
