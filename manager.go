package leasehold

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"
)

// Manager takes leases from a store and keeps them: it renews what is held, and
// says so before a lease can be lost. One is enough for a program. All methods
// may be called concurrently. Close it when done.
type Manager struct {
	store      Store
	o          Options // every default filled in
	clock      *clock
	observer   observer
	calls      crew               // callers inside Acquire, TryAcquire, Do and Lead
	background crew               // goroutines of the Manager's own
	ctx        context.Context    // ends when Close begins
	cancel     context.CancelFunc // of ctx
	wake       chan struct{}      // the scheduler has less time than it thinks
	stop       chan struct{}      // closed when the scheduler has to go
	closed     chan struct{}      // closed when Close is through

	mu       sync.Mutex
	due      queue         // every lease that is held
	ready    queue         // those that wait for a place to renew
	flights  list.List     // of *flight, oldest first
	awake    time.Duration // when the scheduler wakes by itself
	closing  *Error        // set when Close begins: the cause of what it ends
	stopped  bool          // stop is closed
	closeErr error         // what Close answered
}

// NewManager returns a Manager on the store, which stays the caller's to close.
// Nil options are fine. Values that do not fit together are ErrInvalid, with a
// message that suggests what would.
func NewManager(store Store, options *Options) (*Manager, error) {
	o, err := options.complete()
	if err != nil {
		e := asError("new manager", "", err)
		e.Op = "new manager"
		return nil, e
	}
	m := &Manager{
		store: store, o: o, clock: newClock(), awake: never,
		wake: make(chan struct{}, 1), stop: make(chan struct{}), closed: make(chan struct{}),
		due: queue{order: byDue}, ready: queue{order: byLine},
	}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	m.observer.hook, m.observer.run = o.Observe, m.background.run
	m.background.run(m.schedule)
	return m, nil
}

// Holder returns the name under which this Manager holds its leases.
func (m *Manager) Holder() string { return m.o.Holder }

// TryAcquire asks for the lease once. If somebody holds it the error matches
// ErrHeld and says who, since when and until when. If the answer is lost on the
// way, it asks again once with the same id; a grant that nobody takes up, because
// the context ended first, say, is given back in the background.
func (m *Manager) TryAcquire(ctx context.Context, resource string, want ...AcquireOptions) (*Held, error) {
	return m.acquire(ctx, resource, want, (*ask).try)
}

// Acquire waits for the lease: in the store's queue where it has one, else by
// asking again after jittered pauses. Failures of the store are waited out as
// well. The wait ends with ErrTimeout after the timeout, when the context ends
// (the error then also matches the context's), or, where neither has an end,
// after 10,000 attempts.
func (m *Manager) Acquire(ctx context.Context, resource string, want ...AcquireOptions) (*Held, error) {
	return m.acquire(ctx, resource, want, (*ask).wait)
}

// acquire is TryAcquire and Acquire.
func (m *Manager) acquire(ctx context.Context, resource string, want []AcquireOptions, how func(*ask, context.Context) (*Held, error)) (*Held, error) {
	a, err := m.newAsk(ctx, resource, want)
	if err != nil {
		return nil, err
	}
	ctx, leave, err := m.enter(ctx, resource)
	if err != nil {
		return nil, err
	}
	defer leave()
	return a.obtain(ctx, how)
}

var errClosed = errors.New("the manager is closed")

// enter admits a call unless the Manager is closed. The context it returns also
// ends when Close begins.
func (m *Manager) enter(ctx context.Context, resource string) (context.Context, func(), error) {
	m.mu.Lock()
	if m.closing != nil {
		m.mu.Unlock()
		return nil, nil, m.refusal(resource)
	}
	m.calls.join()
	m.mu.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(m.ctx, func() { cancel(m.closing) })
	return ctx, func() {
		stop()
		cancel(nil)
		m.calls.leave()
	}, nil
}

// refusal is the answer of a closed Manager.
func (m *Manager) refusal(resource string) *Error {
	return &Error{Reason: ReasonUnavailable, Op: "acquire", Resource: resource, Cause: errClosed}
}
