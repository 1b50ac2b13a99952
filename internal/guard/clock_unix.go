//go:build unix

package guard

import (
	"math"
	"time"

	"golang.org/x/sys/unix"
)

// never is an instant that does not come.
const never = time.Duration(math.MaxInt64)

// now reads the clock that all processes of this machine share. Wall clocks do
// not matter.
func now() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(clockID, &t); err != nil {
		return monotonic()
	}
	return time.Duration(t.Nano())
}

// monotonic is the clock that every system has. Where the better one is kept
// from us, it is so for all processes of the program.
func monotonic() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic("guard: no monotonic clock: " + err.Error())
	}
	return time.Duration(t.Nano())
}
