package local

import (
	"context"
	"slices"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// Wait implements leasehold.Waiter.
func (e *Engine) Wait(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	if err := r.ValidateAll(); err != nil {
		return leasehold.Grant{}, e.opError("acquire", r.Resource, err)
	}
	started := time.Now()
	r = copyRequest(r)
	id := freshID(r.ID)
	var w *waiter
	d, err := e.decideAndApply(ctx, "acquire", func(now machine.Instant) machine.Outcome {
		if !e.config.Blocking {
			return refuse(r.Resource, leasehold.ReasonBlockingDisabled)
		}
		r = e.config.Fill(r)
		if no := e.config.RefuseTTL(r.Resource, r.TTL); no.Reason != "" {
			return no
		}
		out := e.tryAcquire(now, r, id, nil)
		if !mustWait(out.Reason) || r.Timeout == 0 {
			return out
		}
		former := e.keptPosition(r).claimsOrNone()
		if w = e.enqueue(now, r); w == nil {
			return refuse(r.Resource, leasehold.ReasonIDInUse)
		}
		if !slices.Equal(former, r.Claims) {
			defer e.serveSets(now, former) // it may come back for less
		}
		if cycle := e.checkWait(now, w); cycle != nil {
			p := w.position
			e.removeWaiter(p, false)
			e.serveBehind(now, p)
			w = nil
			return machine.Outcome{Row: out.Row, Reason: leasehold.ReasonDeadlock, Cycle: cycle}
		}
		return machine.Outcome{Row: out.Row} // not refused: it waits
	})
	switch {
	case err != nil:
		return leasehold.Grant{}, e.opError("acquire", r.Resource, err)
	case w != nil: // nothing is answered yet, so it need not be durable
		return e.waitLoop(ctx, w, started)
	}
	return e.grant(r, d.out, d.now, e.awaitDurable(ctx, "acquire", d))
}

func refuse(resource string, reason leasehold.Reason) machine.Outcome {
	return machine.Outcome{Row: machine.Row{Resource: resource}, Reason: reason}
}

// waitLoop waits until the grant, the timeout, or until the caller leaves.
func (e *Engine) waitLoop(ctx context.Context, w *waiter, started time.Time) (leasehold.Grant, error) {
	var timeout <-chan time.Time
	if w.req.Timeout != leasehold.NoTimeout {
		timer := time.NewTimer(max(minTimer, w.req.Timeout-time.Since(started)))
		defer timer.Stop()
		timeout = timer.C
	}
	for {
		select {
		case a := <-w.answer:
			return e.received(ctx, w, a)
		case <-ctx.Done():
			return leasehold.Grant{}, e.cancelled(ctx, w)
		case <-timeout:
			if b, err := e.timedOut(w); err != nil {
				return leasehold.Grant{}, e.whenDurable(ctx, b, err)
			}
			timeout = nil // a grant is being committed: it wins
		}
	}
}

// received returns the answer, unless it is a grant and the caller has left.
func (e *Engine) received(ctx context.Context, w *waiter, a answer) (leasehold.Grant, error) {
	if a.err == nil && ctx.Err() != nil {
		return leasehold.Grant{}, e.cancelled(ctx, w)
	}
	return a.grant, e.opError("acquire", w.req.Resource, a.err)
}

// cancelled ends the wait because the caller has left.
func (e *Engine) cancelled(ctx context.Context, w *waiter) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.clock.now()
	w.left = true
	switch {
	case !w.granted:
		e.dequeue(now, w, "cancelled")
	case w.req.ID.IsZero():
		e.releaseUnclaimed(now, machine.Row{Resource: w.req.Resource, ID: w.id})
	default: // a grant is being committed that the caller can find again by its id
		return e.waitError(now, w, leasehold.ReasonUnknown, context.Cause(ctx))
	}
	err := e.waitError(now, w, leasehold.ReasonCancelled, context.Cause(ctx))
	if e.batches.latest() != nil { // the caller does not wait until that is durable
		err.Current, err.RetryAfter = nil, 0
	}
	return err
}

// timedOut ends the wait unless a grant is being committed. It returns the error
// and the batch that it has seen, or that records it.
func (e *Engine) timedOut(w *waiter) (*batch, *leasehold.Error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if w.granted || w.position.waiter != w { // or a later request has the position
		w.overdue = true
		return nil, nil
	}
	err := e.expireWait(e.clock.now(), w)
	if e.down != nil {
		return nil, err // it has seen nothing, and is recorded after recovery
	}
	return e.batches.latest(), err
}

// whenDurable returns the error of a wait when what it says of the holder is
// durable. If that fails, or the engine closes, it leaves the holder out.
func (e *Engine) whenDurable(ctx context.Context, b *batch, err *leasehold.Error) error {
	if b == nil {
		return err
	}
	select {
	case <-b.done:
		if b.err == nil {
			return err
		}
	case <-ctx.Done():
	case <-e.lifetime.Done():
	}
	err.Current, err.RetryAfter = nil, 0
	return err
}
