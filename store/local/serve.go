package local

import (
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// enqueue gives the request a place: its old one if it comes back, else one at
// the end of its priority. It returns nil if the place belongs to another
// holder.
func (e *Engine) enqueue(now machine.Instant, r leasehold.AcquireRequest) *waiter {
	q := e.queues[r.Resource]
	if q == nil {
		q = newQueue()
		e.queues[r.Resource] = q
	}
	p := q.byID[r.ID]
	if p == nil {
		e.order++
		p = &place{resource: r.Resource, id: r.ID, holder: r.Holder, priority: r.Priority, order: e.order, began: now.Clock}
	}
	if p.holder != r.Holder {
		return nil
	}
	if old := p.waiter; old != nil {
		e.supersede(now, old)
	}
	w := &waiter{req: r, arrived: now, answer: make(chan answer, 1)}
	q.join(p, w)
	return w
}

// serve grants the resource to the first waiter that can have it, if it is
// free. The lock is held.
func (e *Engine) serve(now machine.Instant, resource string) {
	q := e.queues[resource]
	if q == nil {
		return
	}
	for w := q.first(); w != nil; w = q.first() {
		w.id = freshID(w.req.ID)
		out := e.tryAcquire(now, w.req, w.id)
		if queues(out.Reason) {
			return
		}
		q.leave(w.place, false)
		w.granted = true
		e.apply(now, out) // the row is taken or as it was: it does not serve again
		e.send(w, e.result(now, w, out))
	}
	e.dropIfEmpty(resource, q)
}

func (e *Engine) result(now machine.Instant, w *waiter, out machine.Outcome) answer {
	if err := e.refusal("acquire", now, out); err != nil {
		return answer{err: err}
	}
	w.id = out.Row.ID
	return answer{grant: leasehold.Grant{
		Lease:      out.Row.Owned(now),
		Idempotent: out.Idempotent,
		Waited:     time.Duration(now.Clock - w.arrived.Clock),
	}}
}

// send lets the answer go when everything decided so far is durable.
func (e *Engine) send(w *waiter, a answer) {
	e.pending.answers = append(e.pending.answers, delivery{to: w, answer: a})
	signal(e.work)
}

// unplace drops the place of a client that got its lease by asking once more
// instead of waiting on.
func (e *Engine) unplace(now machine.Instant, row machine.Row) {
	q := e.queues[row.Resource]
	if q == nil {
		return
	}
	p := q.byID[row.ID]
	if p == nil {
		return
	}
	old := p.waiter
	q.leave(p, false)
	e.dropIfEmpty(row.Resource, q)
	if old != nil {
		e.supersede(now, old)
	}
}

func (e *Engine) supersede(now machine.Instant, old *waiter) {
	old.gone = true
	e.failed(now, now, old, "superseded")
	e.send(old, answer{err: e.waitError(now, old, leasehold.ReasonSuperseded, nil)})
}

// requeue gives a waiter whose grant is void its place back. One that was
// superseded has no place any more, but still has to hear of it.
func (e *Engine) requeue(now machine.Instant, d delivery) {
	w := d.to
	if w.gone {
		if d.err != nil { // what it said of the holder may be void
			e.send(w, answer{err: e.waitError(now, w, leasehold.ReasonOf(d.err), nil)})
		}
		return
	}
	w.granted = false
	q := e.queues[w.req.Resource]
	if q == nil {
		q = newQueue()
		e.queues[w.req.Resource] = q
	}
	q.join(w.place, w)
	if w.overdue {
		e.send(w, answer{err: e.giveUp(now, w)})
	}
}

// dismiss lets every waiter go because the engine closes.
func (e *Engine) dismiss() {
	for _, q := range e.queues {
		for w := q.first(); w != nil; w = q.first() {
			q.leave(w.place, false)
			w.gone = true
			w.answer <- answer{err: unavailable(errClosed)}
		}
	}
	clear(e.queues)
}

func (e *Engine) waiting(resource string) int {
	if q := e.queues[resource]; q != nil {
		return q.present.Len()
	}
	return 0
}

func (e *Engine) dropIfEmpty(resource string, q *queue) {
	if q.empty() {
		delete(e.queues, resource)
	}
}
