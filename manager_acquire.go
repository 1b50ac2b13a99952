package leasehold

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// obtain asks, by try or by wait, and leaves nothing behind: what comes of it is
// either a lease that the Manager keeps, or no lease at all.
func (a *ask) obtain(ctx context.Context, how func(*ask, context.Context) (*Held, error)) (*Held, error) {
	if ctx.Err() != nil {
		return nil, a.cancelled(ctx, nil, 0)
	}
	h, err := how(a, ctx)
	if err == nil && ctx.Err() != nil {
		err = a.cancelled(ctx, nil, 0)
	}
	if err == nil {
		err = a.m.keep(h)
	}
	if err == nil {
		return h, nil
	}
	if h != nil && !a.madeID {
		// The id is the caller's, who may ask again with it at any moment:
		// nothing may end that lease behind its back.
		a.m.surrender(a.req, false)
		a.open = false
	}
	a.giveBack()
	if errors.Is(context.Cause(ctx), errClosed) {
		return nil, a.m.refusal(a.req.Resource)
	}
	return nil, err
}

// keep takes charge of the lease, unless Close came first.
func (m *Manager) keep(h *Held) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closing != nil {
		return m.refusal(h.resource)
	}
	h.reschedule()
	return nil
}

// try asks once, and once more where the first answer was lost.
func (a *ask) try(ctx context.Context) (*Held, error) {
	h, err := a.send(ctx, a.m.store.Acquire, callTimeout)
	if err != nil && a.open && ctx.Err() == nil {
		h, err = a.send(ctx, a.m.store.Acquire, callTimeout)
	}
	return h, err
}

// send makes one request and turns a grant into a lease that can be handed out.
func (a *ask) send(ctx context.Context, call func(context.Context, AcquireRequest) (Grant, error), limit time.Duration) (*Held, error) {
	sent := a.m.clock.now()
	g, err := bounded(ctx, limit, func(ctx context.Context) (Grant, error) { return call(ctx, a.req) })
	if err != nil {
		e := asError("acquire", a.req.Resource, err)
		a.learn(e)
		return nil, e
	}
	a.open = true // until the Manager keeps it
	h := a.held(g)
	if g.Waited == WaitUnknown {
		return a.confirm(ctx, h)
	}
	now := a.m.clock.now()
	h.count(min(sent+g.Waited, now), g.Lease)
	if now >= h.line { // the answer came late
		return a.confirm(ctx, h)
	}
	return h, nil
}

func (a *ask) held(g Grant) *Held {
	return &Held{
		m: a.m, resource: a.req.Resource, holder: a.req.Holder, id: a.req.ID, token: g.Token,
		metadata: g.Metadata, acquiredAt: g.AcquiredAt, renew: a.renew, works: a.works, values: a.values,
	}
}

// confirm renews a lease of which nobody can tell here how much is left: the
// store does not know how long the request waited, or its answer came too late.
// The ttl then counts from just before that renewal. It is worth trying again
// for about as long as the lease can last.
func (a *ask) confirm(ctx context.Context, h *Held) (*Held, error) {
	limit := 3 * callTimeout
	if a.req.TTL != Infinite {
		limit = min(limit, a.req.TTL)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	pause := a.m.retryOf(a.req.TTL)
	for {
		sent := a.m.clock.now()
		l, err := bounded(ctx, limit/2, func(ctx context.Context) (Lease, error) { return a.m.renewStore(ctx, h) })
		if err == nil {
			h.count(sent, l)
			if a.m.clock.now() < h.line {
				return h, nil
			}
			err = &Error{Reason: ReasonUnknown, Op: "renew", Resource: h.resource}
		}
		if judge(err) != transient || !sleep(ctx, jitter(pause)) {
			return nil, a.unconfirmed(err)
		}
		pause = min(2*pause, limit/4)
	}
}

// unconfirmed says why a grant could not be confirmed. One without renewals
// never can: asking again would only repeat it.
func (a *ask) unconfirmed(err error) error {
	e := asError("acquire", a.req.Resource, err)
	switch judge(e) {
	case gone:
		a.open = false
	case spent:
		return a.m.fault(Invalid("MaxRenewals", "leaves no renewal to confirm a grant with, and this store cannot tell how long a request waited; allow one more"), a.req.Resource)
	}
	return e
}

// learn keeps track of whether a lease by this id may exist.
func (a *ask) learn(e *Error) {
	switch e.Reason.Sentinel() {
	case ErrUnknown:
		a.open, a.lost = true, true
	case ErrHeld, ErrLost, ErrTimeout, ErrNotFound:
		a.open = a.open && (e.Reason == ReasonBreaking || e.Reason == ReasonMaxRenewals) ||
			e.Reason == ReasonCancelled // the grant may have come at the same moment
	}
}

// giveBack releases, in the background, a lease that nobody took up. The id of
// a caller is left alone where it is not certain that there is a lease: the
// caller will ask again with it.
func (a *ask) giveBack() {
	if !a.open || !a.madeID {
		return
	}
	req, lost := a.req, a.lost
	a.open, a.lost = false, false
	a.m.background.run(func() { a.m.surrender(req, lost) })
}

// cancelled is the error of a wait that its context ended: it matches ErrTimeout,
// the context's error and cause, and what stood in the way.
func (a *ask) cancelled(ctx context.Context, last error, waited time.Duration) error {
	cause := context.Cause(ctx)
	if !errors.Is(cause, ctx.Err()) {
		cause = fmt.Errorf("%w: %w", ctx.Err(), cause)
	}
	e := &Error{Reason: ReasonCancelled, Op: "acquire", Resource: a.req.Resource, Waited: waited, Cause: cause}
	if last != nil {
		e.Cause = fmt.Errorf("%w; before that: %w", cause, last)
		e.inTheWay(last)
	}
	return e
}

// inTheWay copies who was in the way from an earlier answer.
func (e *Error) inTheWay(last error) {
	var l *Error
	if errors.As(last, &l) {
		e.Current, e.Waiting = l.Current, l.Waiting
	}
}

// bounded makes a request that ends after the limit at the latest.
func bounded[T any](ctx context.Context, limit time.Duration, request func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return request(ctx)
}

// sleep pauses and reports whether the context still lives.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}
