package leasehold

import (
	"sync"
	"time"
)

// asleep returns how far real time is ahead of the process's monotonic clock,
// which on most systems stands still while the machine sleeps. Only changes of
// the value mean anything. It is the one seam through which the Manager reads
// anything but Go's clock; tests replace it to let a machine sleep.
var asleep = systemGap()

// clock measures real time since its start: the monotonic clock plus the time
// that the machine slept. Every deadline of a Manager is a reading of it.
type clock struct {
	start time.Time
	gap   func() time.Duration

	mu    sync.Mutex
	last  time.Duration // the gap already counted
	slept time.Duration
}

// slack is a change of the gap too small to be a sleep: two clocks cannot be
// read at the same instant.
const slack = 20 * time.Millisecond

func newClock() *clock {
	return &clock{start: time.Now(), gap: asleep, last: asleep()}
}

// now returns the real time since the clock was made. A gap that shrinks, which
// a wall clock does when it is set back, counts like one that grows: a step may
// cost a lease but must never keep one.
func (c *clock) now() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if change := c.change(); change >= slack {
		c.slept += change
	}
	return time.Since(c.start) + c.slept
}

// change returns how much the gap has changed. A reading that was interrupted
// between its two clocks looks like a sleep; three in a row do not.
func (c *clock) change() time.Duration {
	var gap time.Duration
	for range 3 {
		gap = c.gap()
		if (gap - c.last).Abs() < slack {
			return 0
		}
	}
	change := (gap - c.last).Abs()
	c.last = gap
	return change
}

var processStart = time.Now()

// wallGap is the gap by the wall clock, for systems that tell nothing better.
func wallGap() time.Duration {
	now := time.Now()
	wall := now.Round(0).Sub(processStart.Round(0)) // Round strips the monotonic reading
	return wall - now.Sub(processStart)
}
