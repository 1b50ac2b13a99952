package leasehold

import (
	"sync"
	"time"
)

// clockOffset returns how far real time is ahead of the process's monotonic
// clock, which on most systems stands still while the machine is suspended. Only
// changes of the value mean anything. Everything else the Manager reads from
// Go's clock; tests replace this variable to suspend a machine.
var clockOffset = systemOffset()

// clock measures real time since its start: the monotonic clock plus the time
// that the machine was suspended. Every deadline of a Manager is a reading of it.
type clock struct {
	start  time.Time
	offset func() time.Duration
	jumped func(time.Duration) // called with each suspend; nil: nothing

	mu        sync.Mutex
	last      time.Duration // the offset already counted
	suspended time.Duration
}

// minSuspend is the least change of the offset that counts: two clocks cannot be
// read at the same instant.
const minSuspend = 20 * time.Millisecond

func newClock() *clock {
	return &clock{start: time.Now(), offset: clockOffset, last: clockOffset()}
}

// now returns the real time since the clock was made. An offset that shrinks, as
// when a wall clock is set back, counts like one that grows: a step may cost a
// lease but must never keep one.
func (c *clock) now() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if change := c.change(); change >= minSuspend {
		c.suspended += change
		if c.jumped != nil {
			c.jumped(change)
		}
	}
	return time.Since(c.start) + c.suspended
}

// change returns how much the offset has changed. A reading interrupted between
// its two clocks looks like a suspend; three in a row do not.
func (c *clock) change() time.Duration {
	var offset time.Duration
	for range 3 {
		offset = c.offset()
		if (offset - c.last).Abs() < minSuspend {
			return 0
		}
	}
	change := (offset - c.last).Abs()
	c.last = offset
	return change
}

var processStart = time.Now()

// wallOffset goes by the wall clock, for systems that have nothing better.
func wallOffset() time.Duration {
	now := time.Now()
	wall := now.Round(0).Sub(processStart.Round(0)) // Round strips the monotonic reading
	return wall - now.Sub(processStart)
}
