package leasehold

import (
	"context"
	"sync"
	"time"
)

// Event is something that happened to a held lease: Acquired, Renewed,
// RenewalFailed, SafetyLineNear, Breaking, Lost or Released; or to the Manager
// itself: ClockJumped. No other type implements it.
//
// Options.Observe gets the events of a Manager one at a time, in the order in
// which they happened, with no lock held, on a goroutine of its own: it may be
// slow and may call the Manager. Only Close waits for it. When it is thousands
// of events behind, those that a lease can have more than once are dropped until
// it has caught up; Acquired, Breaking, Lost and Released never are.
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

	ctx context.Context
}

// Context returns a context with the values of the operation that acquired the
// lease, such as its trace. It never ends.
func (i EventInfo) Context() context.Context {
	if i.ctx == nil {
		return context.Background()
	}
	return i.ctx
}

// Acquired says that the Manager holds the lease from now on.
type Acquired struct {
	EventInfo
	AutoRenew bool // the Manager renews it
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

// SafetyLineNear says that the lease is overdue: half of the time between its
// renewal and its safety line has passed without a success.
type SafetyLineNear struct {
	EventInfo
	Remaining time.Duration // to the line
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

// ClockJumped says that the machine was suspended, or that its clock was set
// where the Manager has to go by the wall clock. Leases that ran out meanwhile
// are lost. Its Info has only the time.
type ClockJumped struct {
	EventInfo
	By time.Duration
}

// Info returns which lease, and when.
func (i EventInfo) Info() EventInfo { return i }

func (Acquired) event()       {}
func (Renewed) event()        {}
func (RenewalFailed) event()  {}
func (SafetyLineNear) event() {}
func (Breaking) event()       {}
func (Lost) event()           {}
func (Released) event()       {}
func (ClockJumped) event()    {}

// Operation is something that a Manager does for a caller or for a held lease,
// however many requests it takes. Options.Trace gets it before the first.
type Operation struct {
	Kind     OperationKind
	Resource string  // empty while a lease on Claims is being acquired
	Claims   []Claim // of such a lease, else nil; shared, like Metadata
	Holder   string
	Token    uint64            // zero while the lease is being acquired
	TTL      time.Duration     // requested; zero for other kinds than an acquire
	Timeout  time.Duration     // of OperationAcquire; zero: none
	Metadata map[string]string // shared: read it, do not change it

	// Attempt counts the background renewals since the last success, from 1.
	// Zero for other kinds.
	Attempt int

	// Acquired has the values of the context that Trace returned when the lease
	// was acquired. Nil while it is being acquired.
	Acquired context.Context
}

// OperationKind is a kind of operation.
type OperationKind uint8

// The kinds of operations.
const (
	OperationAcquire     OperationKind = iota // waits: Acquire, Do and Lead
	OperationTryAcquire                       // TryAcquire
	OperationRenew                            // Held.Renew
	OperationAutoRenewal                      // one request of the Manager, in the background
	OperationRelease                          // Held.Release, and the end of Do and Lead
)

// startOperation calls the hook. The function that it returns gets the lease's
// token, if there is one, and the operation's error.
func (o *Options) startOperation(ctx context.Context, op Operation) (context.Context, func(uint64, error)) {
	if o.Trace == nil {
		return ctx, func(uint64, error) {}
	}
	return o.Trace(ctx, op)
}

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
	case Renewed, RenewalFailed, SafetyLineNear, ClockJumped:
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
