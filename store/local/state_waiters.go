package local

import (
	"strconv"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// returnWithin is how long a client whose position is reserved has to come back
// before its wait counts as failed: a long wait may take several requests, and
// is still one wait.
const returnWithin = machine.Time(2 * time.Second)

// queue returns the resource's queue, a new one if there is none.
func (s *state) queue(resource string) *queue {
	q := s.queues[resource]
	if q == nil {
		q = newQueue(&s.waiters)
		s.queues[resource] = q
	}
	return q
}

func (s *state) dropIfEmpty(resource string, q *queue) {
	if q.empty() {
		delete(s.queues, resource)
	}
}

func (s *state) waiting(resource string) int {
	if q := s.queues[resource]; q != nil {
		return q.present.Len()
	}
	return 0
}

// enqueue puts the request into the queue: at its old position if it comes back,
// else at the end of its priority. It returns nil if the position belongs to
// another holder.
func (s *state) enqueue(now machine.Instant, r leasehold.AcquireRequest) *waiter {
	q := s.queue(r.Resource)
	p := q.byID[r.ID]
	if p == nil {
		s.lastOrder++
		p = &position{resource: r.Resource, id: r.ID, holder: r.Holder, priority: r.Priority, order: s.lastOrder, since: now.Clock}
	}
	if p.holder != r.Holder {
		return nil
	}
	if old := p.waiter; old != nil {
		s.supersede(now, old)
	}
	w := &waiter{req: r, arrived: now, answer: make(chan answer, 1)}
	q.add(p, w)
	return w
}

// grantToWaiters grants the resource to the first waiter that can have it, if it
// is free, and refuses those that cannot have it any more.
func (s *state) grantToWaiters(now machine.Instant, resource string) {
	q := s.queues[resource]
	if q == nil {
		return
	}
	for w := q.first(); w != nil; w = q.first() {
		w.id = freshID(w.req.ID)
		out := s.tryAcquire(now, w.req, w.id)
		if mustWait(out.Reason) {
			return
		}
		q.remove(w.position, false)
		w.granted = true
		s.apply(now, out) // the row is held now or unchanged: this does not come back here
		s.batches.send(w, s.result(now, w, out))
	}
	s.dropIfEmpty(resource, q)
}

// mustWait says whether a refusal is one that a waiter waits for.
func mustWait(r leasehold.Reason) bool {
	return r == leasehold.ReasonHeld || r == leasehold.ReasonBreaking
}

func (s *state) result(now machine.Instant, w *waiter, out machine.Outcome) answer {
	if err := s.refusal("acquire", now, out); err != nil {
		return answer{err: err}
	}
	w.id = out.Row.ID
	return answer{grant: leasehold.Grant{
		Lease:      out.Row.Owned(now),
		Idempotent: out.Idempotent,
		Waited:     time.Duration(now.Clock - w.arrived.Clock),
	}}
}

// dropPosition drops the position of a client that got its lease by another
// request than the one that waits.
func (s *state) dropPosition(now machine.Instant, row machine.Row) {
	q := s.queues[row.Resource]
	if q == nil {
		return
	}
	p := q.byID[row.ID]
	if p == nil {
		return
	}
	old := p.waiter
	q.remove(p, false)
	s.dropIfEmpty(row.Resource, q)
	if old != nil {
		s.supersede(now, old)
	}
}

// supersede ends a wait because a later request of its client replaces it.
func (s *state) supersede(now machine.Instant, old *waiter) {
	old.left = true
	s.recordFailure(now, now, old, "superseded")
	s.batches.send(old, answer{err: s.waitError(now, old, leasehold.ReasonSuperseded, nil)})
}

// requeue puts a waiter whose grant is void back into its position. A superseded
// one has no position any more, but still needs an answer.
func (s *state) requeue(now machine.Instant, d delivery) {
	w := d.to
	if w.left {
		if d.err != nil { // what it said of the holder may be void
			s.batches.send(w, answer{err: s.waitError(now, w, leasehold.ReasonOf(d.err), nil)})
		}
		return
	}
	w.granted = false
	s.queue(w.req.Resource).add(w.position, w)
	if w.overdue {
		s.batches.send(w, answer{err: s.expireWait(now, w)})
	}
}

// expireWait ends a wait whose time is up.
func (s *state) expireWait(now machine.Instant, w *waiter) *leasehold.Error {
	w.left = true
	s.dequeue(now, w, "timeout")
	return s.waitError(now, w, leasehold.ReasonTimeout, nil)
}

// dequeue takes a waiter out of its queue. A position with an id stays reserved
// for a while.
func (s *state) dequeue(now machine.Instant, w *waiter, why string) {
	p, q := w.position, s.queues[w.req.Resource]
	if q == nil || p.waiter != w {
		return // served or superseded a moment ago
	}
	reserved := !p.id.IsZero() && !s.closed
	q.remove(p, reserved)
	if reserved {
		p.until = now.Clock + machine.Time(leasehold.KeptPlace)
		r := reservation{p, p.until}
		s.reserved = append(s.reserved, r)
		s.interrupted = append(s.interrupted, interruptedWait{r, w, why, now})
		s.wakeAt(now.Clock + returnWithin)
		return
	}
	s.dropIfEmpty(w.req.Resource, q)
	s.recordFailure(now, now, w, why)
}

// dismissWaiters answers every waiter because the engine closes.
func (s *state) dismissWaiters() {
	for _, q := range s.queues {
		for w := q.first(); w != nil; w = q.first() {
			q.remove(w.position, false)
			w.left = true
			w.answer <- answer{err: unavailable(errClosed)}
		}
	}
	clear(s.queues)
}

// waitError is the error of a wait that ended without a grant.
func (s *state) waitError(now machine.Instant, w *waiter, reason leasehold.Reason, cause error) *leasehold.Error {
	err := &leasehold.Error{
		Reason: reason, Op: "acquire", Resource: w.req.Resource, Store: s.kind,
		Waited: time.Duration(now.Clock - w.arrived.Clock), Cause: cause,
		Waiting: s.waiting(w.req.Resource),
	}
	if row := s.table.row(w.req.Resource); s.down == nil && row.At(now).State.Locked() {
		current := row.Lease(now)
		err.Current, err.RetryAfter = &current, max(0, current.Remaining)
	}
	return err
}

// recordFailure records that a wait ended without a grant, when its caller left.
func (s *state) recordFailure(now, left machine.Instant, w *waiter, why string) {
	row := s.table.row(w.req.Resource).At(now)
	waited := time.Duration(left.Clock - w.position.since).Milliseconds()
	s.record(leasehold.Record{
		At: now.WallTime(), Kind: leasehold.KindFailed,
		Resource: w.req.Resource, Holder: w.req.Holder,
		Before: row.State, After: row.State,
		Why:     why,
		Details: map[string]string{"waited_ms": strconv.FormatInt(waited, 10)},
	})
}

// appendWaiters appends one step of the queue behind last, and reports whether
// there may be more.
func (s *state) appendWaiters(resource string, waiters *[]leasehold.Place, last **position) (more bool) {
	q := s.queues[resource]
	if q == nil {
		return false
	}
	positions := q.after(*last)
	for _, p := range positions {
		*waiters = append(*waiters, leasehold.Place{
			Holder:   p.holder,
			Priority: p.priority,
			Since:    p.waiter.arrived.WallTime(),
			Position: len(*waiters) + 1,
		})
		*last = p
	}
	return len(positions) == stepSize
}
