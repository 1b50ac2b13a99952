package storetest

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/leasehold/leasehold"
)

// Recorder is a store that records calls and answers, so that CheckHistory can
// decide whether a store that does one thing at a time could have answered so.
// Powers that it does not have are not recorded.
type Recorder struct {
	mu    sync.Mutex
	store leasehold.Store
	clock int64 // a counter, which orders calls better than a real clock
	calls []call
}

// Record wraps a store.
func Record(store leasehold.Store) *Recorder { return &Recorder{store: store} }

// Switch goes on recording with another store on the same data, after a crash
// or a restart. No call may be under way.
func (r *Recorder) Switch(store leasehold.Store) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.store = store
}

// Recording is a history of calls, as their callers saw it.
type Recording struct{ calls []call }

// Recording returns what was recorded so far. No call may be under way.
func (r *Recorder) Recording() *Recording {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &Recording{calls: slices.Clone(r.calls)}
}

// Len is the number of calls.
func (r *Recording) Len() int { return len(r.calls) }

// InDoubt is the number of calls whose answer was lost.
func (r *Recording) InDoubt() int { return r.count(inDoubt) }

// Failed is the number of calls that the store said it did not carry out.
func (r *Recording) Failed() int { return r.count(nothing) }

// Grants is the number of new leases.
func (r *Recording) Grants() int {
	n := 0
	for _, c := range r.calls {
		if c.kind == callAcquire && c.result == done {
			n++
		}
	}
	return n
}

func (r *Recording) count(want result) int {
	n := 0
	for _, c := range r.calls {
		if c.result == want {
			n++
		}
	}
	return n
}

// call is one call and its answer.
type call struct {
	kind     callKind
	resource string
	id       leasehold.ID // shown, proposed or, in the answer, given
	next     leasehold.ID // proposed by a transfer
	holder   string       // of the request; of a transfer, the new one
	proposed bool         // the caller knew the id before the answer
	mayEnd   bool         // the lease is short and may expire at any time

	begin, end int64

	result result
	token  uint64 // of the lease in the answer; zero: none
	owner  string // of the lease in the answer
	locked bool   // whether the lease in the answer is live
	err    error
}

type callKind string

const (
	callAcquire  callKind = "acquire"
	callRenew    callKind = "renew"
	callRelease  callKind = "release"
	callBreak    callKind = "break"
	callTransfer callKind = "transfer"
	callStatus   callKind = "status"
)

// result is what an answer says about the resource.
type result string

const (
	done       result = "done"
	repeated   result = "done before"
	held       result = "held"
	gone       result = "gone"     // the lease meant is not live
	nothing    result = "nothing"  // no effect, and nothing said about the resource
	inDoubt    result = "in doubt" // it may have happened, or may happen yet
	unexpected result = "unexpected"
)

// mayEnd reports whether a lease is too short to rely on while a test runs.
func mayEnd(ttl time.Duration) bool {
	return ttl != leasehold.Infinite && ttl < time.Minute
}

func (r *Recorder) start(c call) (call, leasehold.Store) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clock++
	c.begin = r.clock
	return c, r.store
}

func (r *Recorder) finish(c call, l leasehold.Lease, err error) {
	c.err = err
	if c.result == "" {
		c.result = verdict(err)
	}
	var typed *leasehold.Error
	if errors.As(err, &typed) && typed.Current != nil {
		l = *typed.Current
	}
	c.token, c.owner, c.locked = l.Token, l.Holder, l.State.Locked()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clock++
	c.end = r.clock
	if c.result == inDoubt {
		c.end = math.MaxInt64
	}
	r.calls = append(r.calls, c)
}

// verdict returns the result that an error means.
func verdict(err error) result {
	switch {
	case err == nil:
		return done
	case leasehold.ReasonOf(err) == leasehold.ReasonIDInUse:
		return unexpected
	case errors.Is(err, leasehold.ErrHeld):
		return held
	case errors.Is(err, leasehold.ErrLost), errors.Is(err, leasehold.ErrNotFound):
		return gone
	case errors.Is(err, leasehold.ErrUnknown), leasehold.ReasonOf(err) == leasehold.ReasonCancelled:
		return inDoubt // a cancelled wait may have been granted in that moment
	case errors.Is(err, leasehold.ErrUnavailable), errors.Is(err, leasehold.ErrTimeout), errors.Is(err, leasehold.ErrUnsupported):
		return nothing
	}
	return unexpected
}

// Acquire calls the store and records.
func (r *Recorder) Acquire(ctx context.Context, q leasehold.AcquireRequest) (leasehold.Grant, error) {
	return r.acquire(q, func(s leasehold.Store) (leasehold.Grant, error) { return s.Acquire(ctx, q) })
}

// Wait calls the store and records an acquire.
func (r *Recorder) Wait(ctx context.Context, q leasehold.AcquireRequest) (leasehold.Grant, error) {
	return r.acquire(q, func(s leasehold.Store) (leasehold.Grant, error) {
		if w, ok := s.(leasehold.Waiter); ok {
			return w.Wait(ctx, q)
		}
		return leasehold.Grant{}, missing
	})
}

func (r *Recorder) acquire(q leasehold.AcquireRequest, send func(leasehold.Store) (leasehold.Grant, error)) (leasehold.Grant, error) {
	c, s := r.start(call{
		kind: callAcquire, resource: q.Resource, id: q.ID, holder: q.Holder,
		proposed: !q.ID.IsZero(), mayEnd: mayEnd(q.TTL),
	})
	g, err := send(s)
	if err == nil {
		c.id = g.ID
	}
	if g.Idempotent {
		c.result = repeated
	}
	r.finish(c, g.Lease, err)
	return g, err
}

// Renew calls the store and records.
func (r *Recorder) Renew(ctx context.Context, q leasehold.RenewRequest) (leasehold.Lease, error) {
	c, s := r.start(call{kind: callRenew, resource: q.Resource, id: q.ID})
	l, err := s.Renew(ctx, q)
	r.finish(c, l, err)
	return l, err
}

// Release calls the store and records.
func (r *Recorder) Release(ctx context.Context, q leasehold.ReleaseRequest) (leasehold.Lease, error) {
	c, s := r.start(call{kind: callRelease, resource: q.Resource, id: q.ID})
	l, err := s.Release(ctx, q)
	r.finish(c, l, err)
	return l, err
}

// Break calls the store and records. The model knows no break periods: send
// none.
func (r *Recorder) Break(ctx context.Context, q leasehold.BreakRequest) (leasehold.Lease, error) {
	c, s := r.start(call{kind: callBreak, resource: q.Resource})
	l, err := leasehold.Lease{}, error(missing)
	if b, ok := s.(leasehold.Breaker); ok {
		l, err = b.Break(ctx, q)
	}
	r.finish(c, l, err)
	return l, err
}

// Transfer calls the store and records. The request must propose an id, or the
// history cannot know which one is live if the answer is lost.
func (r *Recorder) Transfer(ctx context.Context, q leasehold.TransferRequest) (leasehold.Lease, error) {
	c, s := r.start(call{kind: callTransfer, resource: q.Resource, id: q.ID, next: q.Proposed, holder: q.To})
	l, err := leasehold.Lease{}, error(missing)
	if t, ok := s.(leasehold.Transferer); ok {
		l, err = t.Transfer(ctx, q)
	}
	r.finish(c, l, err)
	return l, err
}

// Status calls the store and records.
func (r *Recorder) Status(ctx context.Context, resource string) (leasehold.Status, error) {
	c, s := r.start(call{kind: callStatus, resource: resource})
	status, err := s.Status(ctx, resource)
	var l leasehold.Lease
	if status.Lease != nil {
		l = *status.Lease
	}
	r.finish(c, l, err)
	return status, err
}

// Close closes the store.
func (r *Recorder) Close() error { return r.store.Close() }
