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
	began := time.Now()
	r = own(r)
	id := freshID(r.ID)
	var w *waiter
	d, err := e.decideNow(ctx, "acquire", func(now machine.Instant) machine.Outcome {
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
	switch {
	case err != nil:
		return leasehold.Grant{}, e.explain("acquire", r.Resource, err)
	case w != nil: // nothing is answered yet: a slow disk does not make it deaf
		return e.await(ctx, w, began)
	}
	return e.granted(r, d.out, d.now, e.settled(ctx, "acquire", d))
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
func (e *Engine) await(ctx context.Context, w *waiter, began time.Time) (leasehold.Grant, error) {
	var timeout <-chan time.Time
	if w.req.Timeout != leasehold.NoTimeout {
		timer := time.NewTimer(max(soon, w.req.Timeout-time.Since(began)))
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
				return leasehold.Grant{}, e.certain(ctx, b, err)
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
	err := e.waitError(now, w, leasehold.ReasonCancelled, context.Cause(ctx))
	if e.seen(w.req.Resource) != nil { // who has left does not wait until it is durable
		err.Current, err.RetryAfter = nil, 0
	}
	return err
}

// timedOut ends the wait unless a grant is on its way. It returns the error and
// the batch that it has seen, or that records it.
func (e *Engine) timedOut(w *waiter) (*batch, *leasehold.Error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if w.granted || w.place.waiter != w { // or somebody took the place
		w.overdue = true
		return nil, nil
	}
	err := e.giveUp(e.now(), w)
	if e.down != nil {
		return nil, err // it has seen nothing, and is recorded when the disk is back
	}
	return e.latest(), err
}

// certain returns the error of a wait that is over, when what it says of the
// holder is durable. If that fails, or the engine closes, it says nothing.
func (e *Engine) certain(ctx context.Context, b *batch, err *leasehold.Error) error {
	if b == nil {
		return err
	}
	select {
	case <-b.done:
		if b.err == nil {
			return err
		}
	case <-ctx.Done():
	case <-e.life.Done():
	}
	err.Current, err.RetryAfter = nil, 0
	return err
}

// giveUp ends a wait whose time is up.
func (e *Engine) giveUp(now machine.Instant, w *waiter) *leasehold.Error {
	w.gone = true
	e.leave(now, w, "timeout")
	return e.waitError(now, w, leasehold.ReasonTimeout, nil)
}

func (e *Engine) waitError(now machine.Instant, w *waiter, reason leasehold.Reason, cause error) *leasehold.Error {
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
		e.pauses = append(e.pauses, pause{absence{p, p.until}, w, why, now})
		e.wakeAt(now.Clock + comeBack)
		return
	}
	e.dropIfEmpty(w.req.Resource, q)
	e.failed(now, now, w, why)
}

// comeBack is how long a client that keeps its place has to ask again before its
// wait counts as failed: a long wait may take several requests, and is still one
// wait.
const comeBack = machine.Time(2 * time.Second)

// pause is a request that ended while its place is kept.
type pause struct {
	absence
	waiter *waiter
	why    string
	left   machine.Instant
}

// failPauses records the waits whose clients did not come back in time.
func (e *Engine) failPauses(now machine.Instant) {
	for len(e.pauses) > 0 {
		p := e.pauses[0]
		if end := p.left.Clock + comeBack; end > now.Clock && !e.closed {
			e.wake = min(e.wake, end)
			return
		}
		e.pauses = e.pauses[1:]
		if e.away(p.absence) {
			e.failed(now, p.left, p.waiter, p.why)
		}
	}
}

// failed records that a wait ended without a grant, when its caller left.
func (e *Engine) failed(now, left machine.Instant, w *waiter, why string) {
	row := e.table.row(w.req.Resource).At(now)
	waited := time.Duration(left.Clock - w.place.began).Milliseconds()
	e.record(leasehold.Record{
		At: now.WallTime(), Kind: leasehold.KindFailed,
		Resource: w.req.Resource, Holder: w.req.Holder,
		Before: row.State, After: row.State,
		Why:     why,
		Details: map[string]string{"waited_ms": strconv.FormatInt(waited, 10)},
	})
}
