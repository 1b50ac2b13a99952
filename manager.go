package leasehold

import (
	"context"
	"errors"
)

// Manager acquires leases from a store and keeps them: it renews what is held,
// and ends a lease's context before the lease can be lost. One is enough for a
// program. All methods may be called concurrently. Close it when done.
type Manager struct {
	renewer // the leases that are held

	calls    waitGroup          // callers inside Acquire, TryAcquire, Do and Lead
	ctx      context.Context    // ends when Close starts
	cancel   context.CancelFunc // of ctx
	closed   chan struct{}      // closed when Close is done
	closeErr error              // the answer of Close
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
	m := &Manager{closed: make(chan struct{})}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	m.renewer.start(store, o)
	return m, nil
}

// Holder returns the name under which this Manager holds its leases.
func (m *Manager) Holder() string { return m.options.Holder }

// TryAcquire requests the lease once, as all calls do on the resource or, where that
// is empty, on AcquireOptions.Claims. If it is held the error matches ErrHeld
// and says by whom, since when and until when. If the answer is lost, it repeats
// the request once with the same id. A grant that the caller does not receive,
// because the context ended first, say, is released in the background.
func (m *Manager) TryAcquire(ctx context.Context, resource string, options ...AcquireOptions) (*Held, error) {
	return m.acquire(ctx, resource, options, OperationTryAcquire)
}

// Acquire waits for the lease: in the store's queue where it has one, else by
// repeating the request after jittered pauses. It also waits while the store
// fails. The wait ends with ErrTimeout after the timeout, when the context ends
// (the error then also matches the context's), or, where neither has an end,
// after 10,000 attempts.
func (m *Manager) Acquire(ctx context.Context, resource string, options ...AcquireOptions) (*Held, error) {
	return m.acquire(ctx, resource, options, OperationAcquire)
}

func (m *Manager) acquire(ctx context.Context, resource string, options []AcquireOptions, kind OperationKind) (*Held, error) {
	a, err := newAcquisition(ctx, m, resource, options)
	if err != nil {
		return nil, err
	}
	ctx, exit, err := m.enter(ctx, resource)
	if err != nil {
		return nil, err
	}
	defer exit()
	return a.acquire(ctx, kind)
}

// Do waits for the lease as Acquire does, runs fn under it and releases it.
//
// Fn's context ends when ctx does, when the Manager closes, and before the lease
// can be lost; fn must then stop. The lease is released only after fn has
// returned, or has unwound from a panic, which Do lets pass.
//
// The error is fn's. If the lease was lost while fn ran, the error also matches
// ErrLost, even if fn returned nil: another holder may have been at work at the
// same time. A release that fails is no error of the work; a Released event
// reports it.
func (m *Manager) Do(ctx context.Context, resource string, fn func(context.Context, *Held) error, options ...AcquireOptions) error {
	a, err := newAcquisition(ctx, m, resource, options)
	if err != nil {
		return err
	}
	ctx, exit, err := m.enter(ctx, resource)
	if err != nil {
		return err
	}
	defer exit()
	loss, err := runUnderLease(ctx, a, fn)
	return joinErrors(loss, err)
}

// Lead is leader election. It waits for the lease, runs fn while it leads, and
// waits again when fn has returned nil or the lease was lost, after a jittered
// pause of about a second that lets others have their turn.
//
// At most one fn leads at a time as far as leases can tell: see the package
// comment. Fn's context ends as in Do, and the lease is released only after fn
// has returned.
//
// Lead returns when ctx ends, when the Manager closes, when fn returns an error
// that does not just repeat its context's end, or when the store refuses the
// request for good. It never returns nil.
func (m *Manager) Lead(ctx context.Context, resource string, fn func(context.Context, *Held) error, options ...AcquireOptions) error {
	ctx, exit, err := m.enter(ctx, resource)
	if err != nil {
		return err
	}
	defer exit()
	pause := firstLeadPause
	for {
		a, err := newAcquisition(ctx, m, resource, options)
		if err != nil {
			return err
		}
		led, err := leadOnce(ctx, a, fn)
		if err != nil {
			return err
		}
		if led {
			pause = firstLeadPause
		}
		sleep(ctx, jitter(pause))
		pause = min(2*pause, maxLeadPause)
	}
}

var errClosed = errors.New("the manager is closed")

// enter admits a call unless the Manager is closed. The context it returns also
// ends when Close starts.
func (m *Manager) enter(ctx context.Context, resource string) (context.Context, func(), error) {
	m.mu.Lock()
	if m.closing != nil {
		m.mu.Unlock()
		return nil, nil, closedError(resource)
	}
	m.calls.add()
	m.mu.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(m.ctx, func() { cancel(m.closing) })
	return ctx, func() {
		stop()
		cancel(nil)
		m.calls.done()
	}, nil
}

// closedError is the answer of a closed Manager.
func closedError(resource string) *Error {
	return &Error{Reason: ReasonUnavailable, Op: "acquire", Resource: resource, Cause: errClosed}
}
