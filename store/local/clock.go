package local

import (
	"strings"
	"time"

	"github.com/leasehold/leasehold/machine"
)

// Reading is one reading of the machine's clocks. It is saved with every commit,
// so that the next process knows how long the engine was down.
type Reading struct {
	BootID        string        // which boot; empty: no clock that the next process can compare
	TimeNamespace string        // whose boot clock; empty where the system has only one
	Boot          time.Duration // since that boot, suspend included
	Wall          int64         // Unix nanoseconds
}

// readClocks reads the machine's clocks; tests replace it, and nothing else. It
// also returns awake, the time since boot without suspend. It reads Boot first, so
// that Boot-awake, the time suspended, is never too large.
var readClocks = systemClocks

var (
	processStart    = time.Now()
	_, awakeAtStart = machineClocks()
)

// systemClocks reads the machine's clocks. In a test bubble Go's clock is fake,
// which shows by being years off; then the boot clock goes by that as well.
func systemClocks() (Reading, time.Duration) {
	r, awake := machineClocks()
	if faked := awakeAtStart + time.Since(processStart); (faked - awake).Abs() > 24*time.Hour {
		r.Boot, awake = faked, faked
	}
	return r, awake
}

// sameBoot says whether both boot clocks count from the same moment.
func (r Reading) sameBoot(other Reading) bool {
	return r.BootID != "" && r.BootID == other.BootID && r.TimeNamespace == other.TimeNamespace
}

// downtime returns how long the engine was down between two readings: the less
// of what the two clocks say, so that a step of the wall clock ends nothing
// early. It is zero when nobody knows: on another boot or machine, from a
// backup, without a boot clock.
func downtime(saved, now Reading) time.Duration {
	if !now.sameBoot(saved) {
		return 0
	}
	return max(0, min(now.Boot-saved.Boot, time.Duration(now.Wall-saved.Wall)))
}

// clock is the engine's time: a counter that continues from the saved value plus
// the downtime. It is never ahead of real time, so no lease ends early.
//
// It counts with Go's monotonic clock, which is fake in a test bubble, and adds
// the time that the machine was suspended.
type clock struct {
	base      machine.Time
	started   time.Time     // with its monotonic reading
	suspended time.Duration // Boot minus awake at the start; at most too large
	slept     time.Duration // suspended since
	reading   Reading       // the last one
	read      time.Time     // when, by Go's clock
}

func startClock(saved Counters) clock {
	var c clock
	readTogether(func() {
		_, awake := readClocks()
		c.reading, _ = readClocks()
		c.suspended = c.reading.Boot - awake
		c.started = time.Now()
	})
	c.read = c.started
	c.base = saved.Clock + machine.Time(downtime(saved.Reading, c.reading))
	return c
}

// maxReadingAge is how long a reading is used. Two system calls for each request
// would be too slow.
const maxReadingAge = time.Millisecond

func (c *clock) now() machine.Instant {
	now := time.Now()
	if !c.isCurrent(now) {
		c.reread(now)
	}
	return machine.Instant{
		Clock: c.base + machine.Time(now.Sub(c.started)+c.slept),
		Wall:  time.Unix(0, c.reading.Wall).Add(now.Sub(c.read)).UnixMilli(),
	}
}

// isCurrent says whether the machine cannot have been suspended since the last
// reading: that moves the wall clock against the monotonic one.
func (c *clock) isCurrent(now time.Time) bool {
	wall := now.Round(0).Sub(c.read.Round(0)) // Round strips the monotonic reading
	return now.Sub(c.read) < maxReadingAge && wall >= 0 && wall < maxReadingAge
}

func (c *clock) reread(now time.Time) {
	r, awake := readClocks()
	c.slept = max(c.slept, r.Boot-awake-c.suspended)
	c.reading, c.read = r, now
}

// save returns what a commit saves of time. The engine's is read first: in the
// other order what passes in between would count twice.
func (c *clock) save() (now machine.Time, r Reading) {
	readTogether(func() {
		now = c.now().Clock
		r, _ = readClocks()
	})
	return now, r
}

// readTogether reads clocks one after the other, and once more if the process was
// held up in between. What it then misses only lengthens leases.
func readTogether(read func()) {
	for range 3 {
		started := time.Now()
		if read(); time.Since(started) < maxReadingAge {
			return
		}
	}
}

// BootClock names the clock that this process and others can compare: the boot and
// the time namespace. It is empty where there is none.
func BootClock() string {
	r, _ := readClocks()
	return strings.TrimSpace(r.BootID + " " + r.TimeNamespace)
}

// maxApart is how far the boot clock and the wall clock may differ and count as one:
// more than a process that is held up between reading one and the other.
const maxApart = 250 * time.Millisecond

// Advance continues a clock that several processes share: each adds the time since
// the last one saved it, by the rule of an engine that was down meanwhile. So it is
// never ahead of real time and never goes back. The caller keeps others from saving
// in between, and saves what is returned, or nothing.
//
// The two clocks are never read at the very same moment, so that the less of what
// they say is a little too little each time. What is missing stays in the reading
// that is returned, or thousands of short turns would add it up.
func (c Counters) Advance() (machine.Instant, Counters) {
	var r Reading
	readTogether(func() { r, _ = readClocks() })
	passed := downtime(c.Reading, r)
	apart := (r.Boot - c.Reading.Boot) - time.Duration(r.Wall-c.Reading.Wall)
	now := machine.Instant{Clock: c.Clock + machine.Time(passed), Wall: r.Wall / int64(time.Millisecond)}
	if r.sameBoot(c.Reading) && apart.Abs() < maxApart {
		r.Boot, r.Wall = c.Reading.Boot+passed, c.Reading.Wall+int64(passed)
	}
	c.Clock, c.Reading = now.Clock, r
	return now, c
}
