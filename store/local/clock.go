package local

import (
	"time"

	"github.com/leasehold/leasehold/machine"
)

// wallTime is the package's only seam to the wall clock; tests step it.
var wallTime = time.Now

// clock is the engine's time: a counter that goes on from the saved value with
// the process's monotonic clock. It stands still while the engine is down, and
// a step of the wall clock does nothing to it.
type clock struct {
	saved   machine.Time
	started time.Time // with its monotonic reading
}

func startClock(saved machine.Time) clock {
	return clock{saved: saved, started: time.Now()}
}

func (c clock) now() machine.Instant {
	return machine.Instant{
		Clock: c.saved + machine.Time(time.Since(c.started)),
		Wall:  wallTime().UnixMilli(),
	}
}
