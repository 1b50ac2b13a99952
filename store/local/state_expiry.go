package local

import (
	"time"

	"github.com/leasehold/leasehold/machine"
)

const (
	// saveEvery is how often the clock is saved while leases live, so that a
	// crash of the machine lengthens no lease by more. (A crash of the process
	// alone lengthens none: the boot clock goes on.)
	saveEvery = machine.Time(time.Second)

	// stepSize is how many entries may be visited under one hold of the lock.
	stepSize = 512
)

// maxEnded is how many ended leases are remembered, however young they are;
// those of blobs are counted apart. A variable only because tests would have to
// make so many.
var maxEnded = 100_000

// expire expires one step of the leases past their end, all before any waiter: who is
// first in line may have waited for several of them. It returns how many ends were
// written, and whether there are more leases.
func (s *state) expire(now machine.Instant) (n int, more bool) {
	var ended machine.Outcome
	for range stepSize {
		if more = s.table.due.Len() > 0 && s.table.due.First().row.Ends <= now.Clock; !more {
			break
		}
		ent := s.table.due.First()
		if s.config.AutoExpire || s.waitedFor(ent.row) {
			ended.Steps = append(ended.Steps, machine.Expire(now, ent.row).Steps...)
		}
		s.table.lapse(ent)
	}
	n = len(ended.Steps)
	if n > 0 {
		s.apply(now, ended)
		s.batches.pending.decided += n - 1 // each is a decision
	}
	return n, more
}

// waitedFor says whether somebody may wait for the end of the row's lease.
func (s *state) waitedFor(row machine.Row) bool {
	return row.Claims != nil || s.reserving.Len() > 0 || s.queues[row.Resource] != nil
}

// expireLapsed writes one step of the expiries that were left for later.
func (s *state) expireLapsed(now machine.Instant) (n int) {
	for ent := s.table.lapsed.head; ent != nil && n < stepSize; ent = s.table.lapsed.head {
		s.apply(now, machine.Expire(now, ent.row))
		n++
	}
	return n
}

// expireReservations drops the reserved positions whose time is over.
func (s *state) expireReservations(now machine.Instant) {
	for len(s.reserved) > 0 {
		r := s.reserved[0]
		if r.end > now.Clock {
			s.nextWake = min(s.nextWake, r.end)
			return
		}
		s.reserved = s.reserved[1:]
		if s.absent(r) {
			s.removeWaiter(r.position, false)
		}
	}
}

// failInterrupted records the waits whose clients did not come back in time.
func (s *state) failInterrupted(now machine.Instant) {
	for len(s.interrupted) > 0 {
		w := s.interrupted[0]
		if end := w.left.Clock + returnWithin; end > now.Clock && !s.closed {
			s.nextWake = min(s.nextWake, end)
			return
		}
		s.interrupted = s.interrupted[1:]
		if s.absent(w.reservation) {
			s.recordFailure(now, w.left, w.waiter, w.why)
		}
	}
}

// absent reports whether the client is still away. One that came back has a
// waiter again, or another reservation.
func (s *state) absent(r reservation) bool {
	q := s.queueAt(r.position)
	return q != nil && q.byID[r.id] == r.position && r.position.waiter == nil && r.until == r.end
}

// forgetSurplus drops the oldest ended rows if there are too many: two for each
// that ends, so that what was loaded beyond the bound goes too.
func (s *state) forgetSurplus(now machine.Instant) {
	if max(s.table.ended.len, s.table.scoped.len) > maxEnded {
		s.forgetOld(now, 2)
	}
}

// forgetOld drops rows whose last lease ended long ago, and the oldest of those
// that are too many, up to limit of each kind.
func (s *state) forgetOld(now machine.Instant, limit int) (n int) {
	for _, ended := range []*list{&s.table.ended, &s.table.scoped} {
		for range limit {
			oldest := ended.head
			if oldest == nil || ended.len <= maxEnded && oldest.row.Ends+machine.Time(Remembered) > now.Clock {
				break
			}
			s.forget(oldest)
			s.batches.pending.decided++
			n++
		}
	}
	return n
}

// saveClock sees that the clock is committed once a second while leases live.
func (s *state) saveClock(now machine.Instant) {
	if s.table.due.Len() == 0 {
		return
	}
	if now.Clock >= s.saved+saveEvery && s.batches.latest() == nil {
		s.batches.touch()
	}
	s.nextWake = min(s.nextWake, max(now.Clock, s.saved)+saveEvery)
}

// wakeForEnd makes sure that the timer fires in time for the row's end.
func (s *state) wakeForEnd(row machine.Row) {
	if row.State.Locked() && row.Ends != machine.Never {
		s.wakeAt(min(row.Ends, s.saved+saveEvery))
	}
}

func (s *state) wakeAt(t machine.Time) {
	if t < s.nextWake {
		s.nextWake = t
		signal(s.rearm)
	}
}
