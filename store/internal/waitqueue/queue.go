package waitqueue

import (
	"time"

	"github.com/leasehold/leasehold"
)

// waiter is one request that waits.
type waiter struct {
	r      leasehold.AcquireRequest
	since  time.Time
	queue  *queue
	signal chan struct{} // of one: look at the queue again

	alone   bool // it found nobody waiting and has not tried yet
	repeats bool // it tries once wherever it stands, because of its id

	behind bool // its try under way is not that of the first

	over     chan struct{} // closed when a later request with the same id took the place
	replaced bool
}

// replace ends the wait, because another one took its place.
func (w *waiter) replace() {
	if !w.replaced {
		w.replaced = true
		close(w.over)
	}
}

// queue is everybody in this process who waits for one resource. All fields are
// guarded by Queues.mu.
type queue struct {
	waiters []*waiter // in the order in which they are served

	due    bool      // a try is needed now
	trying bool      // a try is under way
	ends   time.Time // when the lease in the way ends; zero: not known, or never
	look   time.Time // when to try in any case

	idle     chan struct{} // closed when no try is due or under way; nil: nobody asked
	failures int           // tries in a row that found the service unavailable
	err      error         // what ends all waits of the queue
	conflict *leasehold.Error
	seen     time.Time // when conflict was answered
}

func (x *queue) wake() {
	x.due = true
	x.signalFirst()
}

func (x *queue) signalFirst() {
	if len(x.waiters) > 0 {
		x.waiters[0].signalOnce()
	}
}

func (w *waiter) signalOnce() {
	select {
	case w.signal <- struct{}{}:
	default:
	}
}

// setIdle lets those go on who yield to a try.
func (x *queue) setIdle() {
	if x.idle != nil {
		close(x.idle)
		x.idle = nil
	}
}

// endsAt notes when the lease in the way ends, and with sooner only an earlier
// end than known.
func (x *queue) endsAt(t time.Time, sooner bool) {
	if !sooner || x.ends.IsZero() || t.Before(x.ends) {
		x.ends = t
	}
}

// nearEnd is how shortly before the end of the lease in the way nobody looks: that try
// would only put off the next one, by minPause, beyond the end.
const nearEnd = 50 * time.Millisecond

// next returns what w does now: try, or wait for a signal and at most for that
// long. Zero: only for a signal.
func (x *queue) next(w *waiter, now time.Time) (try bool, pause time.Duration) {
	switch {
	case x.trying:
		return false, 0 // its end signals
	case w.repeats:
		return !x.due || x.waiters[0] == w, 0
	case x.waiters[0] != w:
		return false, 0
	case x.due:
		return true, 0
	}
	until := x.look
	if !x.ends.IsZero() && x.ends.Before(until.Add(nearEnd)) {
		until = x.ends
	}
	if !until.After(now) {
		return true, 0
	}
	return false, until.Sub(now)
}
