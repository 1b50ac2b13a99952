//go:build unix

package guard

import "time"

// deadline is when a command has to end, on the shared clock.
type deadline struct {
	Term time.Duration // SIGTERM
	Kill time.Duration // SIGKILL
}

var noDeadline = deadline{never, never}

// mostReserve bounds what is kept back for a busy machine between SIGKILL and
// the moment at which the command must be gone: half of the time in which it has
// to stop, but not more than this.
const mostReserve = 500 * time.Millisecond

// deadlineOf draws the deadline of a lease of which so much was left at an
// instant: to its safety line, and to its end. Negative means no end. The grace
// between the signals is shortened to fit.
func deadlineOf(at, line, end, grace time.Duration) deadline {
	if line < 0 || end < 0 {
		return noDeadline
	}
	end = max(end, line)
	reserve := min((end-line)/2, mostReserve)
	return deadline{Term: at + line, Kill: at + min(line+grace, end-reserve)}
}

// hasten is the deadline of a command that has to go now.
func (d deadline) hasten(at, grace time.Duration) deadline {
	return deadline{Term: min(d.Term, at), Kill: min(d.Kill, at+grace)}
}
