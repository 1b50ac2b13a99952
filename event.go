package leasehold

import (
	"sync"
	"time"
)

// Event is something that happened to a held lease: Renewed, RenewalFailed,
// Breaking, Lost or Released. No other type implements it.
//
// Options.Observe gets the events of a Manager one at a time, in the order in
// which they happened, with no lock held, on a goroutine of its own: it may be
// slow and may call the Manager. Only Close waits for it. When it is thousands
// of events behind, Renewed and RenewalFailed are dropped until it has caught
// up; Breaking, Lost and Released never are.
type Event interface {
	// Info returns which lease, and when.
	Info() EventInfo
	event()
}

// EventInfo names the lease that an event is about, never by its id.
type EventInfo struct {
	Resource string
	Holder   string
	Token    uint64
	Time     time.Time // wall clock
}

// Renewed says that the store has confirmed the lease for another ttl, or, for
// an infinite lease, that it is still held.
type Renewed struct {
	EventInfo
	NewExpiry time.Time // wall clock, for people; zero if infinite
	Took      time.Duration
}

// RenewalFailed says that a renewal failed. Unless Lost follows, the lease is
// still held.
type RenewalFailed struct {
	EventInfo
	Attempt   int // 1 for the first since the last success
	Err       error
	WillRetry bool // another attempt is planned before the safety line
}

// Breaking says that the lease is being broken: it is not renewed any more, and
// its context ends a margin before the period does.
type Breaking struct {
	EventInfo
	Remaining time.Duration // of the period, by the store's answer
}

// Lost says that the lease is no longer held and its context has ended.
type Lost struct {
	EventInfo

	// Reason is the store's where it said that the lease is gone, else how the
	// lease ran out: ReasonExpired at the safety line, ReasonBroken after
	// Breaking, ReasonMaxRenewals.
	Reason Reason

	// LastSuccess is when the last successful request was sent, by the wall
	// clock.
	LastSuccess time.Time
}

// Released says that the holder has released the lease.
type Released struct {
	EventInfo

	// Err is set where the store could not be reached; the lease then ends by
	// itself when its ttl does.
	Err error
}

// Info returns which lease, and when.
func (i EventInfo) Info() EventInfo { return i }

func (Renewed) event()       {}
func (RenewalFailed) event() {}
func (Breaking) event()      {}
func (Lost) event()          {}
func (Released) event()      {}

// observer passes events to the hook, in order, on one goroutine that lives only
// while there are any.
type observer struct {
	hook  func(Event)
	start func(func()) // starts a goroutine that Close waits for

	mu      sync.Mutex
	queue   []Event
	running bool
}

// maxQueuedEvents is how many events may wait before the frequent kinds are
// dropped. A lease has at most one each of the others, so the queue is bounded.
const maxQueuedEvents = 8192

// notify queues the event. It never blocks and may be called with locks held.
func (o *observer) notify(e Event) {
	if o.hook == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.queue) >= maxQueuedEvents && frequent(e) {
		return
	}
	o.queue = append(o.queue, e)
	if !o.running {
		o.running = true
		o.start(o.drain)
	}
}

func frequent(e Event) bool {
	switch e.(type) {
	case Renewed, RenewalFailed:
		return true
	}
	return false
}

// drain calls the hook until no event waits. It removes all that wait at once,
// so that notify and the hook seldom compete for the lock; what it has removed
// no longer counts as waiting.
func (o *observer) drain() {
	for {
		o.mu.Lock()
		batch := o.queue
		o.queue = nil
		o.running = len(batch) > 0
		o.mu.Unlock()
		if len(batch) == 0 {
			return
		}
		for _, e := range batch {
			o.hook(e)
		}
	}
}
