package remote

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/wire"
)

const (
	// patience is how long a caller that leaves a wait is held up until the
	// server has taken note of it.
	patience = time.Second

	// giveBackFor is how long it may take to give back what nobody wants.
	giveBackFor = 5 * time.Second

	// firstPause is the pause before a request is repeated, doubled each time.
	firstPause = 5 * time.Millisecond
)

var errLeft = errors.New("the caller has left")

// giveUp ends a wait whose caller leaves. When it returns, the server has taken
// note, unless that takes longer than patience.
//
// To close the connection would not do: nobody can tell when the server notices,
// and what it grants until then. Instead the client takes the place over, with a
// request of the same id that does not wait. That ends the first request, with an
// answer. Of a caller's id there remains a kept place, or a grant that it can ask
// for again.
func (w *wait) giveUp(p *pending) {
	if p.withdraw() {
		p.cancel()
		p.detach(nil)
		return
	}
	ctx, cancel := context.WithTimeout(w.life, giveBackFor)
	done := make(chan struct{})
	w.running.Go(func() { // p is running, so Close waits for this, too
		defer close(done)
		defer cancel()
		w.takeOver(ctx, p)
		if w.own {
			w.abandon(w.request.Resource, w.request.ID)
		}
	})
	select {
	case <-done:
	case <-time.After(patience):
		if !w.own {
			cancel() // the caller may come back with the id
		}
	}
}

// cleanUp ends a wait that has no answer, if nobody can ask for its lease again.
func (w *wait) cleanUp() {
	if !w.own {
		return
	}
	w.background(func() {
		ctx, cancel := context.WithTimeout(w.life, giveBackFor)
		defer cancel()
		w.takeOver(ctx, nil)
		w.abandon(w.request.Resource, w.request.ID)
	})
}

// takeOver repeats the wait's request until the repetition has an answer and the
// first one, p, is not under way any more; nil: it is not. The first may arrive
// after the repetition, and is then the one that goes on.
func (w *wait) takeOver(ctx context.Context, p *pending) {
	var first chan result
	if p != nil {
		first = p.done
		defer p.detach(nil)
		defer p.cancel()
	}
	ended, over := p == nil, true
	for pause := time.Duration(0); ; pause = max(2*pause, firstPause) {
		select {
		case r := <-first:
			if ended = true; over && r.err == nil {
				return
			}
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
		last, fits := ended, false
		if over, fits = w.repeat(ctx); over && last {
			return
		}
		if !fits && p != nil {
			p.cancel()
		}
	}
}

// repeat takes the wait's place over, and reports whether that has an answer that
// will not change, and whether the server let it take the place at all.
func (w *wait) repeat(ctx context.Context) (over, fits bool) {
	c := w.call(time.Millisecond)
	c.effect = writes
	err := w.attempt(ctx, c, new(wire.Grant))
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

// giveBack releases the lease of a late answer: its caller has left and had
// proposed no id, so nobody could ever ask for it again.
func (s *Store) giveBack(r reply) {
	var w wire.Grant
	if r.status/100 != 2 || json.Unmarshal(r.body, &w) != nil {
		return
	}
	g, err := w.Grant(true)
	if err != nil {
		return
	}
	s.abandon(g.Resource, g.ID)
}

// abandon releases an id, and tries again until there is an answer.
func (s *Store) abandon(resource string, id leasehold.ID) {
	ctx, cancel := context.WithTimeout(s.life, giveBackFor)
	defer cancel()
	r := leasehold.ReleaseRequest{ID: id, Resource: resource, Why: leasehold.WhyAbandoned}
	c := call{op: "release", effect: writes, batch: true, target: "/v1/leases/release", body: wire.FromRelease(r)}
	for pause := firstPause; ; pause *= 2 {
		err := s.attempt(ctx, c, new(wire.Lease))
		if !errors.Is(err, leasehold.ErrUnavailable) && !errors.Is(err, leasehold.ErrUnknown) {
			return
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// attempt makes a call that the client needs for itself. Close does not end it.
func (s *Store) attempt(ctx context.Context, c call, out any) error {
	if c.batch && !s.closed() {
		return s.do(ctx, c, out)
	}
	q, err := s.request(c)
	if err != nil {
		return err
	}
	r, err := s.transport.exchange(ctx, q)
	if err != nil {
		return s.failure(ctx, c, err)
	}
	return s.understand(ctx, c, r, out)
}
