// Package waitqueue keeps the wait queues of networked stores: it makes
// Wait(ctx, AcquireRequest) out of a function that tries to acquire once.
//
// A store owns one Queues and uses it like this:
//
//	s.queues = waitqueue.New(waitqueue.Options{
//		Store:   "redis",
//		Try:     s.tryAcquire, // one attempt; a conflict says when the lease in the way ends
//		Repeat:  s.tryRepeat,  // one attempt that grants nothing new
//		Release: s.Release,    // for a grant that nobody received
//	})
//
//	func (s *Store) Wait(ctx, r)    { validate, fill in defaults; return s.queues.Wait(ctx, r) }
//	func (s *Store) Acquire(ctx, r) { s.queues.Yield(ctx, r.Resource); return s.tryAcquire(ctx, r) }
//	func (s *Store) Release(ctx, r) { …; s.queues.Wake(resource) }
//	func (s *Store) Renew(ctx, r)   { …; s.queues.EndsIn(resource, lease.Remaining) }
//	func (s *Store) Break(ctx, r)   { …; s.queues.EndsIn(resource, lease.Remaining) } // zero wakes
//	on a notice of the service      { s.queues.Wake(resource) }
//	when notices may be lost        { s.queues.WakeAll() }
//	func (s *Store) Close()         { s.queues.Close(); … } // first: it may still release
//
// What it promises, within this process:
//
//   - One queue per resource: higher priority first, then first come, first
//     served. Only the first waiter tries, and one try runs at a time, so a
//     thousand waiters cost the service what one does. The exception is a
//     request with a proposed ID, which tries once when it joins: it may be the
//     repetition of an acquire that succeeded.
//   - The first waiter tries when it joins, when it becomes first after a try
//     that failed, when it is woken, when the lease in the way ends as far as is
//     known, and in any case every 5 s or so, as the net under lost notices.
//   - A wake-up during a try is not lost: the try is repeated.
//   - After Release has called Wake, an Acquire that calls Yield comes behind
//     the waiters of this process.
//   - A try that fails as ReasonUnavailable or ReasonRateLimited does not cost a
//     waiter its place at once: it is repeated a few times over about three
//     seconds, then all waiters of the resource get that error. The very first
//     try of a request that finds nobody waiting is not repeated. Every other
//     error ends the wait whose try it was.
//
// Waiters of other processes are not known here: among processes whoever tries
// first is first. Places are not kept for absent waiters (leasehold.KeptPlace).
package waitqueue

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/leasehold/leasehold"
)

// DefaultTimeout ends a wait whose request has no Timeout.
const DefaultTimeout = 30 * time.Second

// Options says whose queues they are and how to acquire. Try, Repeat and Release
// are required.
type Options struct {
	// Store is the store's kind, for errors.
	Store string

	// Try tries to acquire once. ReasonHeld and ReasonBreaking make the request
	// wait on; the error's RetryAfter, or else Current.Remaining, says when the
	// lease in the way ends. RetryAfter wins because a store with a coarse clock
	// adds its grain there. Try gets the waiter's own context, and handles its
	// end in the middle of a call as Acquire must: what nobody received is
	// released unless its ID was proposed. It ends by itself within some seconds
	// if the service is dead, because Close and timeouts wait for it.
	Try func(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error)

	// Repeat is Try for a request that is not the first in the queue, and may
	// repeat an acquire that succeeded: it answers the lease that the request has
	// already and grants nothing new, which would overtake the first. Where the
	// resource is free it answers ReasonHeld without Current.
	Repeat func(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error)

	// Release releases a grant that came as its caller left. It gets a context of
	// its own, in its own goroutine, which Close waits for.
	Release func(ctx context.Context, r leasehold.ReleaseRequest) (leasehold.Lease, error)

	// Failed, if not nil, is told of every wait that ended without a grant by
	// "timeout" or "cancelled", for the history. It runs as Release does.
	Failed func(ctx context.Context, r leasehold.AcquireRequest, why string, waited time.Duration)

	// Look is how often the first waiter tries though nothing woke it. It is
	// jittered by a fifth. Default 5 s.
	Look time.Duration
}

// Queues are the queues of all resources of one store.
type Queues struct {
	opts   Options
	closed chan struct{}

	waits      sync.WaitGroup // calls of Wait under way
	background sync.WaitGroup // releases and records of failed waits

	mu       sync.Mutex
	isClosed bool
	queues   map[string]*queue // only those with waiters
}

// New returns empty queues. It starts nothing.
func New(o Options) *Queues {
	if o.Look == 0 {
		o.Look = 5 * time.Second
	}
	return &Queues{opts: o, closed: make(chan struct{}), queues: map[string]*queue{}}
}

// Wait acquires, and waits while the resource is held. The request is valid and
// its defaults are filled in, apart from Timeout: zero is DefaultTimeout. The
// grant says how long it waited, counted to the moment before its try was sent,
// so that a caller who adds the ttl to it never honours the lease too long.
//
// It ends with ReasonTimeout after the request's Timeout; with ReasonCancelled
// when ctx ends; with ReasonSuperseded when another request with the same ID comes
// to wait in this process, and takes over its place; with ReasonUnavailable when
// the queues are closed; and with the error of its own try where that is no
// conflict. A grant that arrives when ctx has ended is released and answered as
// ReasonCancelled; if its ID was proposed it stays and is ReasonUnknown: the caller
// can find it again by its id.
func (q *Queues) Wait(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	if r.Timeout == 0 {
		r.Timeout = DefaultTimeout
	}
	w := &waiter{r: r, since: time.Now(), signal: make(chan struct{}, 1), over: make(chan struct{})}
	if !q.join(w) {
		return leasehold.Grant{}, q.waitError(w, leasehold.ReasonUnavailable, errClosed)
	}
	defer q.waits.Done()
	return q.waitLoop(ctx, w)
}

// Wake lets the first waiter of the resource try at once. The store calls it
// when the resource is free as far as it knows.
func (q *Queues) Wake(resource string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if x := q.queues[resource]; x != nil {
		x.wake()
	}
}

// WakeAll is Wake for every resource: after notices may have been lost.
func (q *Queues) WakeAll() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, x := range q.queues {
		x.wake()
	}
}

// EndsIn says that the current lease ends after d, which is news if it is sooner
// than known: after a renewal with a shorter ttl, or a break with a period. Zero
// is Wake; Infinite changes nothing.
func (q *Queues) EndsIn(resource string, d time.Duration) {
	if d == leasehold.Infinite {
		return
	}
	if d <= 0 {
		q.Wake(resource)
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if x := q.queues[resource]; x != nil {
		x.endsAt(time.Now().Add(d), true)
		x.signalFirst()
	}
}

// yieldFor bounds Yield: an Acquire never hangs on the try of another caller.
const yieldFor = time.Second

// Yield returns when no waiter of the resource has been woken and not yet tried:
// an Acquire that calls it first does not barge in between a release and the
// waiter that it woke. It returns at once where nobody waits, and in any case
// after a second.
func (q *Queues) Yield(ctx context.Context, resource string) {
	idle := q.pendingTry(resource)
	if idle == nil {
		return
	}
	limit := time.NewTimer(yieldFor)
	defer limit.Stop()
	for ; idle != nil; idle = q.pendingTry(resource) {
		select {
		case <-idle:
		case <-limit.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// pendingTry returns a channel that is closed when the try that is due or under
// way has ended; nil if there is none.
func (q *Queues) pendingTry(resource string) <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	x := q.queues[resource]
	if x == nil || !x.trying && !x.due {
		return nil
	}
	if x.idle == nil {
		x.idle = make(chan struct{})
	}
	return x.idle
}

// Waiting returns how many wait for the resource in this process.
func (q *Queues) Waiting(resource string) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting(resource)
}

func (q *Queues) waiting(resource string) int {
	if x := q.queues[resource]; x != nil {
		return len(x.waiters)
	}
	return 0
}

// Waiters lists who waits for the resource in this process, in the order in
// which they are served.
func (q *Queues) Waiters(resource string) []leasehold.Place {
	q.mu.Lock()
	defer q.mu.Unlock()
	x := q.queues[resource]
	if x == nil {
		return nil
	}
	places := make([]leasehold.Place, len(x.waiters))
	for i, w := range x.waiters {
		places[i] = leasehold.Place{Holder: w.r.Holder, Priority: w.r.Priority, Since: w.since.Round(0).UTC(), Position: i + 1}
	}
	return places
}

// Close ends every wait with ReasonUnavailable, and returns when all calls of
// Wait, and what they left to be released, have ended. Wait then refuses. A try
// under way is not cut off: its grant still counts.
func (q *Queues) Close() {
	q.mu.Lock()
	if !q.isClosed {
		q.isClosed = true
		close(q.closed)
	}
	q.mu.Unlock()
	q.waits.Wait()
	q.background.Wait()
}

var errClosed = errors.New("the store is closed")

// join puts w into its queue: behind those of its priority, before lower ones.
func (q *Queues) join(w *waiter) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.isClosed {
		return false
	}
	q.waits.Add(1)
	x := q.queues[w.r.Resource]
	if x == nil {
		x = &queue{due: true}
		q.queues[w.r.Resource] = x
		w.alone = true
	}
	x.waiters = slices.Insert(x.waiters, x.position(w), w)
	w.queue = x
	w.repeats = !w.alone && !w.r.ID.IsZero()
	return true
}

// position is where w joins. The place of an earlier request with the same id
// becomes its own.
func (x *queue) position(w *waiter) int {
	for i, other := range x.waiters {
		if !w.r.ID.IsZero() && other.r.ID == w.r.ID && !other.replaced {
			other.replace()
			return i + 1
		}
	}
	i := slices.IndexFunc(x.waiters, func(other *waiter) bool { return other.r.Priority < w.r.Priority })
	if i < 0 {
		i = len(x.waiters)
	}
	return i
}

// remove takes w out of its queue; the next one becomes first.
func (q *Queues) remove(w *waiter) {
	x := w.queue
	i := slices.Index(x.waiters, w)
	if i < 0 {
		return // all were removed with an error
	}
	x.waiters = slices.Delete(x.waiters, i, i+1)
	if len(x.waiters) > 0 {
		x.signalFirst()
		return
	}
	x.setIdle()
	delete(q.queues, w.r.Resource)
}
