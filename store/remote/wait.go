package remote

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/wire"
)

// Wait implements leasehold.Waiter. A wait is one long request, and always has an
// id: the caller's, or one that the client made. If the connection breaks, the
// server keeps the place of a caller's id for a while, and Wait sends the request
// again for as long as that lasts.
func (s *Store) Wait(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	if err := r.ValidateAll(); err != nil {
		return leasehold.Grant{}, localError("acquire", r.Resource, err)
	}
	w := &wait{Store: s, request: r, started: time.Now(), ownID: r.ID.IsZero()}
	if w.ownID {
		w.request.ID = leasehold.NewID()
	}
	for {
		g, err := w.try(ctx)
		if err == nil {
			g.Waited = w.total(g.Waited)
			return g, nil
		}
		again, err := w.again(ctx, err)
		if !again {
			if errors.Is(err, leasehold.ErrUnknown) {
				w.cleanUp()
			}
			return leasehold.Grant{}, err
		}
	}
}

// wait is a wait under way, which may need several requests.
type wait struct {
	*Store
	request leasehold.AcquireRequest
	ownID   bool // the client made the id
	started time.Time
	sentAt  time.Time     // of the last request
	broken  time.Time     // when the connection broke; zero: it did not
	pause   time.Duration // before the next request
}

// try sends one request, for the time that remains.
func (w *wait) try(ctx context.Context) (leasehold.Grant, error) {
	w.sentAt = time.Now()
	timeout := w.request.Timeout
	if timeout > 0 {
		timeout = max(time.Millisecond, timeout-w.sentAt.Sub(w.started))
	}
	c := w.call(timeout)
	if err := c.encode(); err != nil {
		return leasehold.Grant{}, err
	}
	a, err := w.start(ctx, c, func() {})
	if err != nil {
		return leasehold.Grant{}, w.failure(ctx, c, err)
	}
	select {
	case r := <-a.done:
		return w.decodeGrant(ctx, c, r)
	case <-ctx.Done():
	case <-w.open.Done():
	}
	w.abandon(a)
	return leasehold.Grant{}, w.failure(ctx, c, errLeft)
}

// call returns the call that waits for the lease so long.
func (w *wait) call(timeout time.Duration) *call {
	r := w.request
	r.Timeout = timeout
	return &call{op: "acquire", resource: r.Resource, effect: waits, target: "/v1/leases/acquire", body: wire.FromAcquire(r, true)}
}

// decodeGrant decodes the result of a request.
func (w *wait) decodeGrant(ctx context.Context, c *call, r result) (leasehold.Grant, error) {
	if r.err != nil {
		return leasehold.Grant{}, w.failure(ctx, c, r.err)
	}
	var g wire.Grant
	if err := w.decode(ctx, c, r.reply, &g); err != nil {
		return leasehold.Grant{}, err
	}
	return w.checkGrant(ctx, c, w.request, g, true)
}

// total adds the time before the last request to how long the server says that
// it waited. It may only be shorter than the truth: the ttl is counted from there.
func (w *wait) total(waited time.Duration) time.Duration {
	if waited == leasehold.WaitUnknown {
		return waited
	}
	return w.sentAt.Sub(w.started) + waited
}

// again decides whether to send another request, and pauses before it.
// Otherwise it completes the error.
func (w *wait) again(ctx context.Context, err error) (bool, error) {
	var e *leasehold.Error
	if !errors.As(err, &e) {
		return false, err
	}
	switch {
	case e.Reason == leasehold.ReasonTimeout && w.request.Timeout == leasehold.NoTimeout:
		w.broken, w.pause = time.Time{}, 0
		return true, nil // the longest wait of the server has ended, and ours has not
	case w.placeKept(e) && w.backOff(ctx):
		return true, nil
	case e.Reason == leasehold.ReasonUnavailable && e.Store == kind && !w.broken.IsZero() && !w.closed():
		e.Reason = leasehold.ReasonUnknown // of the request that broke
	case e.Reason == leasehold.ReasonCancelled && e.Store == kind:
		e.Waited = time.Since(w.started)
	case e.Waited > 0:
		e.Waited = w.total(e.Waited)
	}
	return false, err
}

// placeKept reports whether the connection broke and the server may still keep
// the place.
func (w *wait) placeKept(e *leasehold.Error) bool {
	if w.ownID || e.Store != kind {
		return false
	}
	switch {
	case w.broken.IsZero() && e.Reason == leasehold.ReasonUnknown:
		w.broken = time.Now()
	case w.broken.IsZero() || e.Reason != leasehold.ReasonUnknown && e.Reason != leasehold.ReasonUnavailable:
		return false
	}
	timeout := w.request.Timeout
	return !w.closed() && time.Since(w.broken) < leasehold.KeptPlace &&
		(timeout <= 0 || time.Since(w.started) < timeout)
}

// backOff pauses for a server that restarts: first not at all, then longer each
// time. It reports whether the store is still open.
func (w *wait) backOff(ctx context.Context) bool {
	if w.pause > 0 {
		timer := time.NewTimer(w.pause/2 + rand.N(w.pause))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		case <-w.open.Done():
			return false
		}
	}
	w.pause = min(max(2*w.pause, 10*time.Millisecond), time.Second)
	return true // if the context has ended, the next request says so
}
