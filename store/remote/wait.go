package remote

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/wire"
)

const (
	// patience is how long a waiter that leaves waits for the server to take
	// note of it.
	patience = time.Second

	// giveBackFor is how long it may take to give back what nobody wants.
	giveBackFor = 5 * time.Second
)

// Wait implements leasehold.Waiter. The wait is one long request. If its
// connection breaks and an id was proposed, the server keeps the place for a
// while, and Wait asks again for as long as that lasts.
func (s *Store) Wait(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	if err := r.Validate(); err != nil {
		return leasehold.Grant{}, explain("acquire", r.Resource, err)
	}
	w := &wait{Store: s, request: r, began: time.Now()}
	for {
		g, err := w.ask(ctx)
		if err == nil {
			g.Waited = w.since(g.Waited)
			return g, nil
		}
		again, err := w.judge(ctx, err)
		if !again {
			return leasehold.Grant{}, err
		}
	}
}

// wait is a wait under way, which may take several requests.
type wait struct {
	*Store
	request leasehold.AcquireRequest
	began   time.Time
	asked   time.Time     // when the last request was made
	broken  time.Time     // when the connection broke; zero: it did not
	pause   time.Duration // before asking again
}

// ask makes one request for the time that remains.
func (w *wait) ask(ctx context.Context) (leasehold.Grant, error) {
	w.asked = time.Now()
	r := w.request
	if r.Timeout > 0 {
		r.Timeout = max(time.Millisecond, r.Timeout-w.asked.Sub(w.began))
	}
	c := call{op: "acquire", resource: r.Resource, effect: waits, target: "/v1/leases/acquire", body: wire.FromAcquire(r, true)}
	c.late = ignore
	if r.ID.IsZero() {
		c.late = w.giveBack
	}
	var answer wire.Grant
	if err := w.do(ctx, c, &answer); err != nil {
		return leasehold.Grant{}, err
	}
	return w.granted(ctx, c, r, answer, true)
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
	if w.request.ID.IsZero() || e.Store != kind {
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
		case <-w.closing:
			return false
		}
	}
	w.pause = min(max(2*w.pause, 10*time.Millisecond), time.Second)
	return true // if the context has ended, the next request says so
}

// giveBack releases the lease of a late answer: its caller has left and had
// proposed no id, so nobody could ever ask for it again.
func (s *Store) giveBack(a *answer) {
	var w wire.Grant
	buffer := buffers.Get().(*[]byte)
	defer putBuffer(buffer)
	if a.StatusCode/100 != 2 || readAll(a.Body, buffer) != nil || json.Unmarshal(*buffer, &w) != nil {
		return
	}
	g, err := w.Grant(true)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), giveBackFor)
	defer cancel()
	_, _ = s.Release(ctx, leasehold.ReleaseRequest{ID: g.ID, Resource: g.Resource, Why: "abandoned"})
}

// ignore is for late answers that can be asked for again.
func ignore(*answer) {}
