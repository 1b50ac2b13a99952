package remote

import (
	"context"
	"errors"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/sleep"
	"github.com/leasehold/leasehold/wire"
)

const (
	// abandonFor is how long a caller that leaves a wait is delayed until the
	// server has dequeued it.
	abandonFor = time.Second

	// releaseFor is how long it may take to release an unclaimed lease.
	releaseFor = 5 * time.Second

	// firstPause is the pause before a request is repeated, doubled each time.
	firstPause = 5 * time.Millisecond
)

var errLeft = errors.New("the caller has left")

// abandon ends a wait whose caller leaves. When it returns, the server has
// dequeued the waiter, unless that takes longer than abandonFor.
//
// Closing the connection is not enough: the server notices at some later time, and
// may grant the lease until then. Instead the client supersedes the request by one
// with the same id that does not wait. That ends the first request, with an answer.
// If the id is the caller's, its place is kept for a while, or its grant stays for
// it to acquire again.
func (w *wait) abandon(a *asyncCall) {
	if a.withdraw() {
		a.cancel()
		a.detach()
		return
	}
	ctx, cancel := context.WithTimeout(w.life, releaseFor)
	done := make(chan struct{})
	w.running.Go(func() { // a is running, so Close waits for this, too
		defer close(done)
		defer cancel()
		w.supersede(ctx, a)
		if w.ownID {
			w.releaseID(w.request.Resource, w.request.ID)
		}
	})
	select {
	case <-done:
	case <-time.After(abandonFor):
		if !w.ownID {
			cancel() // the caller may come back with the id
		}
	}
}

// cleanUp ends a wait without an answer whose id only the client knows: nobody
// can acquire its lease again.
func (w *wait) cleanUp() {
	if !w.ownID {
		return
	}
	w.background(func() {
		ctx, cancel := context.WithTimeout(w.life, releaseFor)
		defer cancel()
		w.supersede(ctx, nil)
		w.releaseID(w.request.Resource, w.request.ID)
	})
}

// supersede repeats the wait's request, without waiting, until the repetition has
// an answer and the first request, a, has ended; nil: it has. The first may arrive
// after the repetition, and then supersedes it.
func (w *wait) supersede(ctx context.Context, a *asyncCall) {
	var first chan result
	if a != nil {
		first = a.done
		defer a.detach()
		defer a.cancel()
	}
	ended, final := a == nil, true
	for pause := time.Duration(0); ; pause = max(2*pause, firstPause) {
		select {
		case r := <-first:
			if ended = true; final && r.err == nil {
				return
			}
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
		wasEnded, accepted := ended, false
		if final, accepted = w.repeat(ctx); final && wasEnded {
			return
		}
		if !accepted && a != nil {
			a.cancel()
		}
	}
}

// repeat sends the wait's request, without waiting. It reports whether the answer
// is final, and whether the server accepted the request.
func (w *wait) repeat(ctx context.Context) (final, accepted bool) {
	c := w.call(time.Millisecond)
	c.effect = writes
	err := w.sendInternal(ctx, c, new(wire.Grant))
	switch reason := leasehold.ReasonOf(err); {
	case reason == leasehold.ReasonSuperseded:
		return false, true
	case errors.Is(err, leasehold.ErrUnavailable), errors.Is(err, leasehold.ErrUnknown):
		return false, reason != leasehold.ReasonRateLimited
	case errors.Is(err, leasehold.ErrUnsupported), errors.Is(err, leasehold.ErrForbidden):
		return true, false
	}
	return true, true
}

// releaseUnclaimed releases the lease of a grant that came after its caller had
// left. The caller had proposed no id, so nobody can acquire the lease again.
func (s *Store) releaseUnclaimed(r reply) {
	var w wire.Grant
	if r.status/100 != 2 || wire.Decode(r.body, &w) != nil {
		return
	}
	if g, err := w.Grant(true); err == nil {
		s.releaseID(g.Resource, g.ID)
	}
}

// releaseID releases an id, and tries again until there is an answer.
func (s *Store) releaseID(resource string, id leasehold.ID) {
	ctx, cancel := context.WithTimeout(s.life, releaseFor)
	defer cancel()
	body := wire.FromRelease(leasehold.ReleaseRequest{ID: id, Resource: resource, Why: leasehold.WhyAbandoned})
	for pause := firstPause; ; pause *= 2 {
		c := &call{op: "release", effect: writes, batch: true, target: "/v1/leases/release", body: body}
		err := s.sendInternal(ctx, c, new(wire.Lease))
		if !errors.Is(err, leasehold.ErrUnavailable) && !errors.Is(err, leasehold.ErrUnknown) {
			return
		}
		if !sleep.For(ctx, pause) {
			return
		}
	}
}

// sendInternal makes a call of the client's own. Unlike a caller's call, it is
// also sent while the store closes.
func (s *Store) sendInternal(ctx context.Context, c *call, out any) error {
	if c.batch && !s.closed() {
		return s.send(ctx, c, out)
	}
	if err := c.encode(); err != nil {
		return err
	}
	r, err := s.transport.exchange(ctx, c)
	if err != nil {
		return s.failure(ctx, c, err)
	}
	return s.decode(ctx, c, r, out)
}
