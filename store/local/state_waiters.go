package local

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// returnWithin is how long a client whose position is reserved has to come back
// before its wait counts as failed: a long wait may take several requests, and
// is still one wait.
const returnWithin = machine.Time(2 * time.Second)

// queueOf returns the queue that the request belongs to, or nil if there is none.
func (s *state) queueOf(r leasehold.AcquireRequest) *queue {
	if r.Claims != nil {
		return s.sets
	}
	return s.queues[r.Resource]
}

// queueAt returns the position's queue, or nil if there is none.
func (s *state) queueAt(p *position) *queue {
	return s.queueOf(leasehold.AcquireRequest{Resource: p.resource, Claims: p.claims})
}

// makeQueue returns the request's queue, a new one if there is none.
func (s *state) makeQueue(r leasehold.AcquireRequest) *queue {
	q := s.queueOf(r)
	switch {
	case q != nil:
	case r.Claims != nil:
		q = newQueue(s.present)
		s.sets = q
	default:
		q = newQueue(s.present)
		s.queues[r.Resource] = q
	}
	return q
}

// addWaiter puts w at the position, and makes known what it reserves and whom it waits
// for.
func (s *state) addWaiter(now machine.Instant, p *position, w *waiter) {
	if p.waiter != nil {
		s.dropSequence(p.waiter)
	}
	added := s.makeQueue(w.req).add(p, w)
	if added && p.claims != nil {
		s.reserving.Add(p, p.claims)
		if p.reserves > now.Clock {
			s.lapses.Push(p)
			s.wakeAt(p.reserves)
		}
	}
	if w.req.Sequence {
		if s.sequences[p.holder] == nil {
			s.sequences[p.holder] = map[*waiter]bool{}
		}
		s.sequences[p.holder][w] = true
	}
}

// removeWaiter takes the position out of its queue. A reserved one can be added again.
func (s *state) removeWaiter(p *position, reserved bool) {
	q := s.queueAt(p)
	if q == nil {
		return
	}
	if p.waiter != nil {
		s.dropSequence(p.waiter)
	}
	if was := q.remove(p, reserved); was && p.claims != nil {
		s.reserving.Remove(p, p.claims)
		if p.lapse >= 0 {
			s.lapses.Remove(int(p.lapse))
		}
	}
	if p.claims == nil && q.empty() {
		delete(s.queues, p.resource)
	}
}

func (s *state) dropSequence(w *waiter) {
	if of := s.sequences[w.req.Holder]; of[w] {
		if delete(of, w); len(of) == 0 {
			delete(s.sequences, w.req.Holder)
		}
	}
}

// waiting returns how many wait for what the row covers.
func (s *state) waiting(row machine.Row) (n int) {
	if row.Claims != nil {
		n = len(s.waitingFor(row.Claims))
	}
	for _, c := range row.Covers() {
		if q := s.queues[c.Pattern]; c.Namespace == "" && q != nil {
			n += q.present.Len()
		}
		if row.Claims == nil {
			n += len(s.reserving.Named(c.Pattern))
		}
	}
	return n
}

// enqueue puts the request into the queue: at its old position if it comes back,
// else at the end of its priority. It returns nil if the position belongs to
// another holder, or is for other claims.
func (s *state) enqueue(now machine.Instant, r leasehold.AcquireRequest) *waiter {
	p := s.keptPosition(r)
	if p == nil {
		s.lastOrder++
		p = &position{
			resource: r.Resource, claims: r.Claims, id: r.ID, holder: r.Holder, priority: r.Priority,
			order: s.lastOrder, since: now.Clock, reserves: s.reserveUntil(now, r), lapse: -1,
		}
	}
	if p.holder != r.Holder || !machine.SamePatterns(p.claims, r.Claims) {
		return nil
	}
	w := &waiter{req: r, arrived: now, answer: make(chan answer, 1)}
	old := p.waiter
	if !slices.Equal(p.claims, r.Claims) { // it comes back for other modes
		s.removeWaiter(p, true)
		p.claims = r.Claims
	}
	s.addWaiter(now, p, w)
	if old != nil {
		s.supersede(now, old)
	}
	return w
}

// reserveUntil is when a waiter for claims no longer keeps them free: after one ttl, or
// it could block them for as long as something else that it waits for is held.
func (s *state) reserveUntil(now machine.Instant, r leasehold.AcquireRequest) machine.Time {
	ttl := r.TTL
	if ttl == leasehold.Infinite {
		ttl = s.config.DefaultTTL
	}
	return now.Clock + machine.Time(ttl)
}

// grantToWaiters grants the resource to the first waiter that can have it, if it
// is free, and refuses those that cannot have it any more.
func (s *state) grantToWaiters(now machine.Instant, resource string) {
	q := s.queues[resource]
	if q == nil {
		return
	}
	for w := q.first(); w != nil; w = q.first() {
		p := w.position
		w.id = freshID(w.req.ID)
		out := s.tryAcquire(now, w.req, w.id, p)
		if p.waiter != w {
			continue // served while room was made for it
		}
		if mustWait(out.Reason) {
			return
		}
		s.removeWaiter(p, false)
		w.granted = true
		detailWait(now, p, &out)
		s.apply(now, out)
		s.batches.send(w, s.result(now, w, out))
		if out.Reason != "" {
			s.serveBehind(now, p)
		}
	}
}

// detailWait says in the record of a grant how long it was waited for.
func detailWait(now machine.Instant, p *position, out *machine.Outcome) {
	if !out.Granted {
		return
	}
	last := &out.Steps[len(out.Steps)-1]
	details := maps.Clone(last.Details)
	if details == nil {
		details = map[string]string{}
	}
	details["waited_ms"] = strconv.FormatInt(time.Duration(now.Clock-p.since).Milliseconds(), 10)
	last.Details = details
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
	p := s.keptPosition(leasehold.AcquireRequest{Resource: row.Resource, Claims: row.Claims, ID: row.ID})
	if p == nil {
		return
	}
	old := p.waiter
	s.removeWaiter(p, false)
	if old != nil {
		s.supersede(now, old)
		s.serveBehind(now, p) // it may have waited for more than it got
	}
}

// supersede ends a wait because a later request of its client replaces it.
func (s *state) supersede(now machine.Instant, old *waiter) {
	old.left = true
	s.recordFailure(now, now, old, string(leasehold.ReasonSuperseded))
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
	if p := s.keptPosition(w.req); p != nil && p != w.position { // its client has asked again
		s.supersede(now, w)
		return
	}
	s.addWaiter(now, w.position, w)
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
	p := w.position
	if p.waiter != w {
		return // served or superseded a moment ago
	}
	reserved := !p.id.IsZero() && !s.closed
	s.removeWaiter(p, reserved)
	defer s.serveBehind(now, p)
	if reserved {
		p.until = now.Clock + machine.Time(leasehold.KeptPlace)
		r := reservation{p, p.until}
		s.reserved = append(s.reserved, r)
		s.interrupted = append(s.interrupted, interruptedWait{r, w, why, now})
		s.wakeAt(now.Clock + returnWithin)
		return
	}
	s.recordFailure(now, now, w, why)
}

// dismissWaiters answers every waiter because the engine closes.
func (s *state) dismissWaiters() {
	queues := slices.Collect(maps.Values(s.queues))
	if s.sets != nil {
		queues = append(queues, s.sets)
	}
	for _, q := range queues {
		for w := q.first(); w != nil; w = q.first() {
			s.removeWaiter(w.position, false)
			w.left = true
			w.answer <- answer{err: unavailable(errClosed)}
		}
	}
	clear(s.queues) // what is left is kept for absent clients
}

// waitError is the error of a wait that ended without a grant.
func (s *state) waitError(now machine.Instant, w *waiter, reason leasehold.Reason, cause error) *leasehold.Error {
	err := &leasehold.Error{
		Reason: reason, Op: "acquire", Resource: w.req.Resource, Store: s.kind,
		Waited: time.Duration(now.Clock - w.arrived.Clock), Cause: cause,
		Waiting: s.waiting(machine.Row{Resource: w.req.Resource, Claims: w.req.Claims}),
	}
	if row := s.blocker(now, w.req); s.down == nil && row != nil {
		current := row.Lease(now)
		err.Current, err.RetryAfter = &current, max(0, current.Remaining)
	}
	return err
}

// recordFailure records that a wait ended without a grant, when its caller left.
func (s *state) recordFailure(now, left machine.Instant, w *waiter, why string) {
	s.recordFailedWait(now, left, w, why, nil)
}

// recordFailedWait is recordFailure with the cycle that the wait was part of.
func (s *state) recordFailedWait(now, left machine.Instant, w *waiter, why string, cycle []leasehold.WaitEdge) {
	row := s.table.row(w.req.Resource).At(now)
	waited := time.Duration(left.Clock - w.position.since).Milliseconds()
	r := leasehold.Record{
		At: now.WallTime(), Kind: leasehold.KindFailed,
		Resource: w.req.Resource, Holder: w.req.Holder,
		Before: row.State, After: row.State,
		Why:     why,
		Details: map[string]string{"waited_ms": strconv.FormatInt(waited, 10)},
	}
	if w.req.Claims != nil { // it never got a name
		r.Resource, r.Details["claims"] = leasehold.SetPrefix, machine.DescribeClaims(w.req.Claims)
	}
	machine.DetailCycle(r.Details, cycle)
	s.record(r)
}

// shownWaiter is a waiter as Status shows it.
type shownWaiter struct {
	leasehold.Place
	order uint64
}

// appendWaiters appends one step of the queue behind last, and reports whether
// there may be more.
func (s *state) appendWaiters(resource string, waiters *[]shownWaiter, last **position) (more bool) {
	q := s.queues[resource]
	if q == nil {
		return false
	}
	positions := q.after(*last)
	for _, p := range positions {
		*waiters = append(*waiters, show(p))
		*last = p
	}
	return len(positions) == stepSize
}

func show(p *position) shownWaiter {
	return shownWaiter{leasehold.Place{Holder: p.holder, Priority: p.priority, Since: p.waiter.arrived.WallTime()}, p.order}
}

// numberWaiters puts them into the order in which they are served, and numbers them.
func numberWaiters(waiters []shownWaiter) (places []leasehold.Place) {
	slices.SortFunc(waiters, func(a, b shownWaiter) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.order, b.order))
	})
	for i, w := range waiters {
		w.Position = i + 1
		places = append(places, w.Place)
	}
	return places
}
