package leasehold

import (
	"context"
	"errors"
	"time"
)

const (
	// releaseTimeout is the deadline of giving a lease back, whatever that of
	// the caller is.
	releaseTimeout = 5 * time.Second
	// firstRelease is the first pause between two attempts to.
	firstRelease = 50 * time.Millisecond
)

// Release gives the lease back and ends its context. It takes no notice of the
// context's end: a caller that was cancelled is the one that most needs to let
// go. Instead it has a deadline of its own, 5 s.
//
// Nil means that the lease was held until now and is free. An error that matches
// ErrLost means that it was lost before, and the work under it may have
// overlapped with another's. Any other error means that the store could not be
// told; the lease then ends by itself. Further calls wait for the first and
// return what it returned.
func (h *Held) Release(ctx context.Context) error {
	return h.release(context.WithoutCancel(ctx))
}

// release is Release, except that the context can end it.
func (h *Held) release(ctx context.Context) error {
	h.m.mu.Lock()
	if h.done != nil {
		h.m.mu.Unlock()
		<-h.done
		return h.result
	}
	h.done = make(chan struct{})
	h.settle(h.m.clock.now())
	lost := h.end
	if lost == nil {
		h.conclude(&Error{Reason: ReasonReleased, Op: "hold", Resource: h.resource})
	}
	h.m.mu.Unlock()
	defer close(h.done)
	h.result = h.sendRelease(ctx, lost)
	return h.result
}

// sendRelease tells the store, and the observer what came of it. A lease that
// was given up at its safety line may live on in the store: it is released as
// well, unless the store itself has said that it is gone.
func (h *Held) sendRelease(ctx context.Context, lost *Error) error {
	if h.gone {
		return lost
	}
	err := h.m.letGo(ctx, ReleaseRequest{ID: h.id, Resource: h.resource, Holder: h.holder, Token: h.token})
	if lost != nil {
		return lost
	}
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	if err != nil && judge(err) == gone {
		h.end = lossOf(h, err)
		h.lose(h.end, h.m.clock.now())
		return h.end
	}
	h.m.observer.tell(Released{EventInfo: h.info(), Err: err})
	return err
}

// letGo releases a lease and tries again until its deadline where the store
// fails or the answer is lost. That the lease was released is then good news.
func (m *Manager) letGo(ctx context.Context, r ReleaseRequest) error {
	ctx, cancel := context.WithTimeout(ctx, releaseTimeout)
	defer cancel()
	limit, pause, doubt := releaseTimeout/2, firstRelease, false
	for {
		if ctx.Err() != nil { // Close has no time left for this one
			return &Error{Reason: ReasonUnavailable, Op: "release", Resource: r.Resource, Cause: context.Cause(ctx)}
		}
		_, err := bounded(ctx, limit, func(ctx context.Context) (Lease, error) { return m.store.Release(ctx, r) })
		switch {
		case err == nil, doubt && ReasonOf(err) == ReasonReleased:
			return nil
		case judge(err) != transient:
			return err
		}
		e := asError("release", r.Resource, err)
		doubt = doubt || errors.Is(e, ErrUnknown)
		if !sleep(ctx, jitter(pause)) {
			return e
		}
		limit, pause = limit/2+firstRelease, 2*pause
	}
}

// surrender gives back a grant that nobody took up. If the answer was lost, the
// request may still be on its way, so "not found" is asked again for a while.
func (m *Manager) surrender(r AcquireRequest, lost bool) {
	ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout)
	defer cancel()
	pause := firstRelease
	for {
		err := m.letGo(ctx, ReleaseRequest{ID: r.ID, Resource: r.Resource, Holder: r.Holder, Why: WhyAbandoned})
		if !lost || !errors.Is(err, ErrNotFound) || m.ctx.Err() != nil {
			return
		}
		sleep(m.ctx, jitter(pause)) // Close makes this the last time
		pause *= 2
	}
}
