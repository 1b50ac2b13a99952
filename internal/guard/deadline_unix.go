//go:build unix

package guard

import (
	"math"
	"time"

	"golang.org/x/sys/unix"
)

// deadline is when a command has to end, as read by now.
type deadline struct {
	Term time.Duration // SIGTERM
	Kill time.Duration // SIGKILL
}

var noDeadline = deadline{never, never}

// maxReserve bounds the reserve for a busy machine between SIGKILL and the end of
// the lease, which is half of the time that the command has to stop.
const maxReserve = 500 * time.Millisecond

// deadlineOf returns the deadline of a lease that, at an instant, has so much left
// to its safety line and to its end. Negative means no end. The grace between the
// signals is shortened to fit.
func deadlineOf(at, line, end, grace time.Duration) deadline {
	if line < 0 || end < 0 {
		return noDeadline
	}
	end = max(end, line)
	reserve := min((end-line)/2, maxReserve)
	return deadline{Term: at + line, Kill: at + min(line+grace, end-reserve)}
}

// startingAt returns the deadline of a command that has to end from now on.
func (d deadline) startingAt(at, grace time.Duration) deadline {
	return deadline{Term: min(d.Term, at), Kill: min(d.Kill, at+grace)}
}

// never is an instant that does not come.
const never = time.Duration(math.MaxInt64)

// now reads the clock that all processes of this machine share, no wall clock.
func now() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(clockID, &t); err != nil {
		return monotonic()
	}
	return time.Duration(t.Nano())
}

// monotonic reads the clock that every system has. Where the better one is
// refused, it is for all processes of the program.
func monotonic() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic("guard: no monotonic clock: " + err.Error())
	}
	return time.Duration(t.Nano())
}
