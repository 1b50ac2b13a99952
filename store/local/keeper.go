package local

import (
	"time"

	"github.com/leasehold/leasehold/machine"
)

// saveEvery is how often the clock is saved while leases live, so that a crash
// of the machine lengthens no lease by more. (A crash of the process alone
// lengthens none: the boot clock goes on.)
const saveEvery = machine.Time(time.Second)

// soon is the shortest time that a timer is set for. A timer that is due when
// it is set crashes the race detector in a test bubble (Go 1.26).
const soon = time.Nanosecond

// bite is how many entries one hold of the lock may go through.
const bite = 512

// keep is the keeper: it sees to everything that time alone brings about. One
// timer serves all leases.
func (e *Engine) keep() {
	timer := time.NewTimer(e.tend())
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-e.nudge:
		case <-e.life.Done():
			return
		}
		timer.Reset(e.tend())
	}
}

// tend does what is due and returns how long until there is more to do.
func (e *Engine) tend() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ready() != nil {
		return time.Minute // recovery nudges
	}
	now := e.now()
	e.wake = machine.Never
	more := e.expire(now)
	e.failPauses(now)
	e.giveUpPlaces(now)
	e.saveClock(now)
	if more {
		return soon
	}
	if e.table.due.len() > 0 {
		e.wake = min(e.wake, e.table.due.first().row.Ends)
	}
	if e.wake == machine.Never {
		return time.Hour
	}
	return max(soon, time.Duration(e.wake-now.Clock))
}

// expire settles leases past their end, a bite at a time, and reports whether
// there are more.
func (e *Engine) expire(now machine.Instant) bool {
	for range bite {
		if e.table.due.len() == 0 || e.table.due.first().row.Ends > now.Clock {
			return false
		}
		ent := e.table.due.first()
		if e.config.autoExpire || e.waiting(ent.row.Resource) > 0 {
			e.apply(now, machine.Expire(now, ent.row))
		} else {
			e.table.lapse(ent)
		}
	}
	return true
}

// settleLapsed writes expiries down that were left for later, a bite at a
// time.
func (e *Engine) settleLapsed(now machine.Instant) (n int) {
	for ent := e.table.lapsed.head; ent != nil && n < bite; ent = e.table.lapsed.head {
		e.apply(now, machine.Expire(now, ent.row))
		n++
	}
	return n
}

// giveUpPlaces drops the kept places whose time is over. A place that was
// taken up again has a waiter, or is absent for another time.
func (e *Engine) giveUpPlaces(now machine.Instant) {
	for len(e.absent) > 0 {
		a := e.absent[0]
		if a.end > now.Clock {
			e.wake = min(e.wake, a.end)
			return
		}
		e.absent = e.absent[1:]
		if e.away(a) {
			q := e.queues[a.resource]
			q.leave(a.place, false)
			e.dropIfEmpty(a.resource, q)
		}
	}
}

// away reports whether the place is still kept for that absence.
func (e *Engine) away(a absence) bool {
	q := e.queues[a.resource]
	return q != nil && q.byID[a.id] == a.place && a.place.waiter == nil && a.until == a.end
}

// saveClock sees that the clock is committed once a second while it matters.
func (e *Engine) saveClock(now machine.Instant) {
	if e.table.due.len() == 0 {
		return
	}
	if now.Clock >= e.saved+saveEvery && e.latest() == nil {
		e.touch()
	}
	e.wake = min(e.wake, max(now.Clock, e.saved)+saveEvery)
}

// wakeBy makes sure that the keeper looks in time for the row's end.
func (e *Engine) wakeBy(row machine.Row) {
	if row.State.Locked() && row.Ends != machine.Never {
		e.wakeAt(min(row.Ends, e.saved+saveEvery))
	}
}

func (e *Engine) wakeAt(t machine.Time) {
	if t < e.wake {
		e.wake = t
		signal(e.nudge)
	}
}
