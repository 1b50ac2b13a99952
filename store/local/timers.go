package local

import (
	"time"

	"github.com/leasehold/leasehold/machine"
)

// minTimer is the shortest time that a timer is set for. A timer that is due when
// it is set crashes the race detector in a test bubble (Go 1.26).
const minTimer = time.Nanosecond

// timerLoop does everything that time alone brings about. One timer serves all
// leases.
func (e *Engine) timerLoop() {
	timer := time.NewTimer(e.fireTimer())
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-e.rearm:
		case <-e.lifetime.Done():
			return
		}
		timer.Reset(e.fireTimer())
	}
}

// fireTimer does what is due and returns the time until there is more.
func (e *Engine) fireTimer() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ready() != nil {
		return time.Minute // recovery rearms
	}
	now := e.clock.now()
	e.nextWake = machine.Never
	_, more := e.expire(now)
	e.failInterrupted(now)
	e.expireReservations(now)
	e.lapseReservations(now)
	e.saveClock(now)
	if more {
		return minTimer
	}
	if e.table.due.Len() > 0 {
		e.nextWake = min(e.nextWake, e.table.due.First().row.Ends)
	}
	if e.nextWake == machine.Never {
		return time.Hour
	}
	return max(minTimer, time.Duration(e.nextWake-now.Clock))
}
