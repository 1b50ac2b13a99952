package local

import (
	"context"
	"strconv"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// Wait implements leasehold.Waiter.
func (e *Engine) Wait(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	if err := r.Validate(); err != nil {
		return leasehold.Grant{}, e.explain("acquire", r.Resource, err)
	}
	r = own(r)
	id := freshID(r.ID)
	var w *waiter
	out, now, err := e.act(ctx, "acquire", func(now machine.Instant) machine.Outcome {
		if !e.config.blocking {
			return refuse(r.Resource, leasehold.ReasonBlockingDisabled)
		}
		r = e.config.fill(r)
		if no := e.config.refuseTTL(r.Resource, r.TTL); no.Reason != "" {
			return no
		}
		out := e.tryAcquire(now, r, id)
		if !queues(out.Reason) || r.Timeout == 0 {
			return out
		}
		if w = e.enqueue(now, r); w == nil {
			return refuse(r.Resource, leasehold.ReasonIDInUse)
		}
		return machine.Outcome{Row: out.Row} // not refused: it waits
	})
	if w != nil {
		return e.await(ctx, w)
	}
	return e.granted(r, out, now, err)
}

func refuse(resource string, reason leasehold.Reason) machine.Outcome {
	return machine.Outcome{Row: machine.Row{Resource: resource}, Reason: reason}
}

// queues says whether a refusal is one to wait for.
func queues(r leasehold.Reason) bool {
	return r == leasehold.ReasonHeld || r == leasehold.ReasonBreaking
}

// await is the waiting itself: until the grant, the timeout, or the caller's
// leave.
func (e *Engine) await(ctx context.Context, w *waiter) (leasehold.Grant, error) {
	var timeout <-chan time.Time
	if w.req.Timeout != leasehold.NoTimeout {
		spent := time.Duration(e.clock.now().Clock - w.arrived.Clock)
		timer := time.NewTimer(max(soon, w.req.Timeout-spent))
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
			if b, err := e.timedOut(w); b != nil {
				_ = e.durable(ctx, b) // the failed record; the answer is the same either way
				return leasehold.Grant{}, err
			}
			timeout = nil // a grant is on its way: it wins
		}
	}
}

// received hands the answer on, unless the caller has left and could not ask
// for the lease again.
func (e *Engine) received(ctx context.Context, w *waiter, a answer) (leasehold.Grant, error) {
	if a.err == nil && ctx.Err() != nil {
		return leasehold.Grant{}, e.cancelled(ctx, w)
	}
	return a.grant, e.explain("acquire", w.req.Resource, a.err)
}

// cancelled ends the wait because the caller has left.
func (e *Engine) cancelled(ctx context.Context, w *waiter) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.now()
	w.gone = true
	switch {
	case !w.granted:
		e.leave(now, w, "cancelled")
	case w.req.ID.IsZero():
		e.giveBack(now, machine.Row{Resource: w.req.Resource, ID: w.id})
	default: // a grant that can be asked for again is on its way
		return e.waitError(now, w, leasehold.ReasonUnknown, context.Cause(ctx))
	}
	return e.waitError(now, w, leasehold.ReasonCancelled, context.Cause(ctx))
}

// timedOut ends the wait unless a grant is on its way.
func (e *Engine) timedOut(w *waiter) (*batch, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if w.granted || w.place.waiter != w { // or somebody took the place
		w.overdue = true
		return nil, nil
	}
	err := e.giveUp(e.now(), w)
	return e.pending, err
}

// giveUp ends a wait whose time is up.
func (e *Engine) giveUp(now machine.Instant, w *waiter) error {
	w.gone = true
	e.leave(now, w, "timeout")
	return e.waitError(now, w, leasehold.ReasonTimeout, nil)
}

func (e *Engine) waitError(now machine.Instant, w *waiter, reason leasehold.Reason, cause error) error {
	err := &leasehold.Error{
		Reason: reason, Op: "acquire", Resource: w.req.Resource, Store: e.kind,
		Waited: time.Duration(now.Clock - w.arrived.Clock), Cause: cause,
		Waiting: e.waiting(w.req.Resource),
	}
	if row := e.table.row(w.req.Resource); e.down == nil && row.At(now).State.Locked() {
		current := row.Lease(now)
		err.Current, err.RetryAfter = &current, max(0, current.Remaining)
	}
	return err
}

// leave takes a waiter out of its queue. A place with an id is kept for a
// while.
func (e *Engine) leave(now machine.Instant, w *waiter, why string) {
	p, q := w.place, e.queues[w.req.Resource]
	if q == nil || p.waiter != w {
		return // served or superseded a moment ago
	}
	kept := !p.id.IsZero() && !e.closed
	q.leave(p, kept)
	if kept {
		p.until = now.Clock + machine.Time(leasehold.KeptPlace)
		e.absent = append(e.absent, absence{p, p.until})
		e.wakeAt(p.until)
	} else {
		e.dropIfEmpty(w.req.Resource, q)
	}
	e.failed(now, w, why)
}

// failed records that a wait ended without a grant.
func (e *Engine) failed(now machine.Instant, w *waiter, why string) {
	row := e.table.row(w.req.Resource).At(now)
	waited := time.Duration(now.Clock - w.arrived.Clock).Milliseconds()
	e.record(leasehold.Record{
		At: now.WallTime(), Kind: leasehold.KindFailed,
		Resource: w.req.Resource, Holder: w.req.Holder,
		Before: row.State, After: row.State,
		Why:     why,
		Details: map[string]string{"waited_ms": strconv.FormatInt(waited, 10)},
	})
}
