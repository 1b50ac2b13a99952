package remote

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/wire"
)

// Wait implements leasehold.Waiter. The wait is one long request, and has an id
// in any case: the caller's, or one of the client's own. If the connection breaks,
// the server keeps the place of the caller's id for a while, and Wait asks again
// for as long as that lasts.
func (s *Store) Wait(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	if err := r.Validate(); err != nil {
		return leasehold.Grant{}, explain("acquire", r.Resource, err)
	}
	w := &wait{Store: s, request: r, began: time.Now(), own: r.ID.IsZero()}
	if w.own {
		w.request.ID = leasehold.NewID()
	}
	for {
		g, err := w.ask(ctx)
		if err == nil {
			g.Waited = w.since(g.Waited)
			return g, nil
		}
		again, err := w.judge(ctx, err)
		if !again {
			if errors.Is(err, leasehold.ErrUnknown) {
				w.cleanUp()
			}
			return leasehold.Grant{}, err
		}
	}
}

// wait is a wait under way, which may take several requests.
type wait struct {
	*Store
	request leasehold.AcquireRequest
	own     bool // the id is the client's
	began   time.Time
	asked   time.Time     // when the last request was made
	broken  time.Time     // when the connection broke; zero: it did not
	pause   time.Duration // before asking again
}

// ask makes one request for the time that remains.
func (w *wait) ask(ctx context.Context) (leasehold.Grant, error) {
	w.asked = time.Now()
	timeout := w.request.Timeout
	if timeout > 0 {
		timeout = max(time.Millisecond, timeout-w.asked.Sub(w.began))
	}
	c := w.call(timeout)
	q, err := w.Store.request(c)
	if err != nil {
		return leasehold.Grant{}, err
	}
	p, err := w.start(ctx, q, func() {})
	if err != nil {
		return leasehold.Grant{}, w.failure(ctx, c, err)
	}
	select {
	case r := <-p.done:
		return w.answered(ctx, c, r)
	case <-ctx.Done():
	case <-w.open.Done():
	}
	w.giveUp(p)
	return leasehold.Grant{}, w.failure(ctx, c, errLeft)
}

// call asks for the lease, and to wait for it for so long.
func (w *wait) call(timeout time.Duration) call {
	r := w.request
	r.Timeout = timeout
	return call{op: "acquire", resource: r.Resource, effect: waits, target: "/v1/leases/acquire", body: wire.FromAcquire(r, true)}
}

func (w *wait) answered(ctx context.Context, c call, r result) (leasehold.Grant, error) {
	if r.err != nil {
		return leasehold.Grant{}, w.failure(ctx, c, r.err)
	}
	var g wire.Grant
	if err := w.understand(ctx, c, r.reply, &g); err != nil {
		return leasehold.Grant{}, err
	}
	return w.granted(ctx, c, w.request, g, true)
}

// since makes the server's waited count from the beginning. It may only come
// out shorter than the truth, because the ttl is counted from its end.
func (w *wait) since(waited time.Duration) time.Duration {
	if waited == leasehold.WaitUnknown {
		return waited
	}
	return w.asked.Sub(w.began) + waited
}

// judge decides whether to ask again, and makes it time for that.
func (w *wait) judge(ctx context.Context, err error) (again bool, _ error) {
	var e *leasehold.Error
	if !errors.As(err, &e) {
		return false, err
	}
	switch {
	case e.Reason == leasehold.ReasonTimeout && w.request.Timeout == leasehold.NoTimeout:
		w.broken, w.pause = time.Time{}, 0
		return true, nil // the longest wait there is has ended, and ours has not
	case w.lost(e) && w.rest(ctx):
		return true, nil
	case e.Reason == leasehold.ReasonUnavailable && e.Store == kind && !w.broken.IsZero() && !w.closed():
		e.Reason = leasehold.ReasonUnknown // nobody knows of the request that broke
	case e.Reason == leasehold.ReasonCancelled && e.Store == kind:
		e.Waited = time.Since(w.began)
	case e.Waited > 0:
		e.Waited = w.since(e.Waited)
	}
	return false, err
}

// lost reports whether the connection broke and the place may still be there.
func (w *wait) lost(e *leasehold.Error) bool {
	if w.own || e.Store != kind {
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
		(timeout <= 0 || time.Since(w.began) < timeout)
}

// rest lets a server that restarts come back: at once, then every so often. It
// reports whether there is still somebody to ask for.
func (w *wait) rest(ctx context.Context) bool {
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
