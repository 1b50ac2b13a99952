package leasehold

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"
)

// This file follows a held lease in order: it is due, the call, the answer, the
// next renewal, the loss.

const (
	// wakeInterval bounds how late the renewer notices that the machine was
	// suspended: its timer stood still as well.
	wakeInterval = 500 * time.Millisecond
	// maxDuePerPass bounds how long the lock is held when very many are due.
	maxDuePerPass = 1024
	// maxPending bounds the renewals in flight, and so the goroutines that a
	// store which does not answer can block.
	maxPending = 256
	// slotTimeout is how long a renewal may take while others wait for a slot.
	slotTimeout = time.Second
	// callTimeout bounds a call that has no deadline of its own.
	callTimeout = 10 * time.Second
	// minCallTimeout is the least time that a call near the safety line gets.
	minCallTimeout = 50 * time.Millisecond
)

// renewer keeps the leases of a Manager until they are released or lost. One
// goroutine looks after all of them and never calls the store. Renewals have
// goroutines of their own; declaring a loss needs none of them.
type renewer struct {
	store      Store
	options    Options // every default filled in
	clock      *clock
	observer   observer
	background waitGroup     // the Manager's own goroutines
	wake       chan struct{} // the run loop must wake earlier than it planned
	stop       chan struct{} // closed when the run loop must end

	mu      sync.Mutex    // guards the rest, and what changes in a Held
	held    heldHeap      // every lease, by when it is due
	ready   heldHeap      // those that wait for a slot, most urgent first
	pending list.List     // of *renewal, oldest first
	wakesAt time.Duration // when the run loop wakes by itself
	closing *Error        // set when Close starts: the cause of the contexts it ends
	stopped bool          // stop is closed
}

// renewal is one renewal in flight.
type renewal struct {
	sent      time.Duration // just before the call
	cancel    context.CancelFunc
	element   *list.Element // in renewer.pending
	cancelled bool          // to free its slot
}

func (r *renewer) start(store Store, o Options) {
	r.store, r.options, r.clock = store, o, newClock()
	r.clock.jumped = func(by time.Duration) {
		r.observer.notify(ClockJumped{EventInfo: EventInfo{Time: time.Now()}, By: by})
	}
	r.observer = observer{hook: o.Observe, start: r.background.start}
	r.wake, r.stop = make(chan struct{}, 1), make(chan struct{})
	r.held.order, r.ready.order, r.wakesAt = byDue, byLine, never
	r.background.start(r.run)
}

// add keeps the lease from now on, unless Close came first.
func (r *renewer) add(h *Held) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closing != nil {
		return closedError(h.resource)
	}
	r.schedule(h)
	if r.observer.hook != nil { // an acquire that nobody observes makes no event
		r.observer.notify(Acquired{EventInfo: h.info(), AutoRenew: h.renew})
	}
	return nil
}

// run handles what is due until the Manager closes.
func (r *renewer) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		if idle := r.handleDue(); idle == never {
			timer.Stop()
		} else {
			timer.Reset(idle)
		}
		select {
		case <-timer.C:
		case <-r.wake:
		case <-r.stop:
			return
		}
	}
}

// handleDue does what is due and returns how long nothing else will be.
func (r *renewer) handleDue() (idle time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.now()
	for range maxDuePerPass {
		h := r.held.first()
		if h == nil || h.due > now {
			break
		}
		r.renewOrLose(h, now)
	}
	r.sendReady(now)
	idle, r.wakesAt = r.idle(now), never
	if idle != never {
		r.wakesAt = now + idle
	}
	return idle
}

// renewOrLose handles one lease that is due.
func (r *renewer) renewOrLose(h *Held, now time.Duration) {
	if r.loseIfPastLine(h, now); h.phase == phaseOver {
		return
	}
	if now >= h.near {
		h.near = never
		r.observer.notify(SafetyLineNear{EventInfo: h.info(), Remaining: h.line - now})
	}
	if now < h.next { // only the warning was due
		r.reschedule(h)
		return
	}
	h.next = never
	if h.renewal != nil { // the one before is still in flight
		h.next = now + slotTimeout
	}
	r.schedule(h)
	if h.renewal == nil {
		r.ready.put(h)
	}
}

// sendReady sends renewals for the most urgent leases while there are slots.
// When none is free it cancels those that have had slotTimeout: their leases get
// another turn, and a part of the store that hangs cannot starve the rest.
func (r *renewer) sendReady(now time.Duration) {
	for r.ready.Len() > 0 && r.pending.Len() < maxPending {
		h := r.ready.first()
		r.ready.drop(h)
		r.send(h, now)
	}
	if r.ready.Len() == 0 {
		return
	}
	for f := r.oldest(); f != nil && now-f.sent >= slotTimeout; f = r.oldest() {
		f.cancelled = true
		f.cancel()
	}
}

// send starts one renewal. It gets half the time that is left, so that another
// can follow if this one gets no answer.
func (r *renewer) send(h *Held, now time.Duration) {
	limit := callTimeout
	if h.line != never {
		limit = max((h.line-now)/2, min(minCallTimeout, h.line-now))
	}
	ctx, cancel := context.WithTimeout(h.values, limit)
	f := &renewal{sent: now, cancel: cancel}
	f.element = r.pending.PushBack(f)
	h.renewal = f
	call := r.callRenew
	if h.phase == phaseExhausted {
		call = r.callStatus
	}
	op := h.operation(OperationAutoRenewal)
	op.Attempt = h.failures + 1
	r.background.start(func() {
		ctx, ended := r.options.startOperation(ctx, op)
		l, err := call(ctx, h)
		cancel()
		ended(h.token, r.receive(h, f, l, err))
	})
}

func (r *renewer) callRenew(ctx context.Context, h *Held) (Lease, error) {
	return r.store.Renew(ctx, RenewRequest{ID: h.id, Resource: h.resource, Holder: h.holder, Token: h.token})
}

// callStatus checks whether an infinite lease without renewals is still held.
func (r *renewer) callStatus(ctx context.Context, h *Held) (Lease, error) {
	s, err := r.store.Status(ctx, h.resource)
	switch {
	case err != nil:
		return Lease{}, err
	case !s.Check(h.token):
		return Lease{}, &Error{Reason: ReasonNotFound, Op: "status", Resource: h.resource}
	case s.Lease.State == StateBreaking:
		return Lease{}, &Error{Reason: ReasonBreaking, Op: "status", Resource: h.resource, Remaining: s.Lease.Remaining}
	}
	return *s.Lease, nil
}

// receive applies the answer and gives the slot to the next. It returns the error
// that counts: a renewal that the lease's release ended has not failed.
func (r *renewer) receive(h *Held, f *renewal, l Lease, err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending.Remove(f.element)
	h.renewal = nil
	released := h.end != nil && h.end.Reason == ReasonReleased
	if err != nil && (r.stopped || released) {
		err = &Error{Reason: ReasonCancelled, Op: "renew", Resource: h.resource, Cause: err}
	}
	if r.stopped {
		return err
	}
	now := r.clock.now()
	r.apply(h, f.sent, l, err, now)
	r.sendReady(now)
	return err
}

// apply applies the answer to a renewal. An answer after the safety line does
// not bring the lease back.
func (r *renewer) apply(h *Held, sent time.Duration, l Lease, err error, now time.Duration) {
	if r.loseIfPastLine(h, now); h.phase == phaseOver {
		return
	}
	if err == nil && l.Token != 0 && l.Token != h.token {
		// The store has granted it anew: in between it was free.
		err = &Error{Reason: ReasonExpired, Op: "renew", Resource: h.resource}
	}
	if err == nil {
		if h.phase == phaseHeld || h.line == never { // else it was sent before the break
			r.applySuccess(h, sent, l, now)
		}
		return
	}
	switch classify(err) {
	case transient:
		r.applyFailure(h, sent, err, now)
	case gone:
		h.noteFailure(err)
		r.notifyFailed(h, false)
		h.gone = true
		r.lose(h, lossError(h.resource, err), now)
	case breaking:
		r.applyBreak(h, sent, err, now)
	case exhausted:
		r.applyExhausted(h, err, now)
	}
}

// answer is what an error says about a lease that was to be renewed.
type answer uint8

const (
	transient answer = iota // nothing: the lease may be as it was
	gone                    // it is no longer ours
	breaking                // it ends soon and cannot be renewed
	exhausted               // it has no renewals left and lives until its end
)

// classify separates answers about the lease from failures to get one. An error
// that is not of this package, or that calls the request invalid or unsupported,
// does not say that the lease is gone.
func classify(err error) answer {
	switch ReasonOf(err) {
	case ReasonBreaking:
		return breaking
	case ReasonMaxRenewals:
		return exhausted
	}
	for _, definitive := range []error{ErrLost, ErrNotFound, ErrForbidden, ErrHeld} {
		if errors.Is(err, definitive) {
			return gone
		}
	}
	return transient
}

// applySuccess restarts the ttl. Of two renewals the one sent later counts,
// whichever answer comes first.
func (r *renewer) applySuccess(h *Held, sent time.Duration, l Lease, now time.Duration) {
	if sent >= h.since {
		h.restart(sent, l)
		r.schedule(h)
	}
	r.observer.notify(Renewed{EventInfo: h.info(), NewExpiry: l.ExpiresAt, Took: now - sent})
}

// applyFailure plans the next attempt after a failure that says nothing about
// the lease. It ignores one that was sent before the last success.
func (r *renewer) applyFailure(h *Held, sent time.Duration, err error, now time.Duration) {
	if sent < h.since {
		return
	}
	h.noteFailure(err)
	if h.renew {
		h.next = now + r.retryPause(h, now)
		r.schedule(h)
	}
	r.notifyFailed(h, h.renew && h.next < h.line)
}

// retryPause doubles with each quick retry and then stays. A store's RetryAfter
// lengthens it. Near the line pauses get shorter again, each half of what is
// left: an outage that ends just before the line costs nothing.
func (r *renewer) retryPause(h *Held, now time.Duration) time.Duration {
	doublings := min(h.failures, r.options.RenewMaxRetries) - 1
	pause := jitter(r.options.retryOf(h.length(&r.options)) << max(doublings, 0))
	return min(max(pause, h.lastErr.RetryAfter), max((h.line-now)/2, minCallTimeout))
}

// applyBreak moves the line to a margin before the end of the break period.
func (r *renewer) applyBreak(h *Held, sent time.Duration, err error, now time.Duration) {
	h.noteFailure(err)
	left := breakRemaining(h.lastErr)
	first := h.phase != phaseBreaking
	h.phase, h.next, h.near = phaseBreaking, never, never
	h.line = min(h.line, sent+r.options.lineOf(left))
	if first {
		r.observer.notify(Breaking{EventInfo: h.info(), Remaining: left})
	}
	r.schedule(h)
	r.loseIfPastLine(h, now)
}

// applyExhausted stops renewing. The lease is held to its line; an infinite one
// has none, and is verified by its status from now on.
func (r *renewer) applyExhausted(h *Held, err error, now time.Duration) {
	h.noteFailure(err)
	switch h.phase {
	case phaseBreaking:
		return
	case phaseHeld:
		r.notifyFailed(h, false)
	}
	h.phase, h.next = phaseExhausted, never
	if h.line == never && h.renew {
		h.next = now + r.options.intervalOf(Infinite)
	}
	r.schedule(h)
}

// notifyFailed reports the failure noted last.
func (r *renewer) notifyFailed(h *Held, willRetry bool) {
	r.observer.notify(RenewalFailed{EventInfo: h.info(), Attempt: h.failures, Err: h.lastErr, WillRetry: willRetry})
}

// schedule makes the lease due at its line or its next renewal.
func (r *renewer) schedule(h *Held) {
	r.ready.drop(h)
	r.reschedule(h)
}

// reschedule is schedule for a lease that may wait for a slot and still has to.
func (r *renewer) reschedule(h *Held) {
	h.due = min(h.line, h.next, h.near)
	r.held.put(h)
	if h.due >= r.wakesAt {
		return
	}
	r.wakesAt = h.due
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// loseIfPastLine declares the lease lost if its safety line has come. It needs
// no store, so nothing that hangs can prevent it.
func (r *renewer) loseIfPastLine(h *Held, now time.Duration) {
	if h.phase == phaseOver || now < h.line {
		return
	}
	e := &Error{Reason: ReasonExpired, Op: "hold", Resource: h.resource}
	if h.lastErr != nil {
		e.Cause = h.lastErr
	}
	switch h.phase {
	case phaseBreaking:
		e.Reason = ReasonBroken
	case phaseExhausted:
		e.Reason = ReasonMaxRenewals
	}
	r.lose(h, e, now)
}

// lose ends the lease against its holder's will.
func (r *renewer) lose(h *Held, why *Error, now time.Duration) {
	r.remove(h, why)
	info := h.info()
	r.observer.notify(Lost{EventInfo: info, Reason: why.Reason, LastSuccess: info.Time.Add(h.since - now)})
}

// remove ends the lease in this process.
func (r *renewer) remove(h *Held, why *Error) {
	h.phase, h.end = phaseOver, why
	r.held.drop(h)
	r.ready.drop(h)
	if h.renewal != nil {
		h.renewal.cancel()
	}
	if h.cancel != nil {
		h.cancel(why)
	}
}

// idle returns how long nothing will be due.
func (r *renewer) idle(now time.Duration) time.Duration {
	h := r.held.first()
	if h == nil {
		return never
	}
	idle := min(max(h.due-now, 0), wakeInterval)
	if f := r.oldest(); f != nil && r.ready.Len() > 0 {
		idle = min(idle, max(f.sent+slotTimeout-now, 0))
	}
	return idle
}

// oldest returns the oldest renewal in flight that is not cancelled, or nil.
func (r *renewer) oldest() *renewal {
	for e := r.pending.Front(); e != nil; e = e.Next() {
		if f := e.Value.(*renewal); !f.cancelled {
			return f
		}
	}
	return nil
}

// shutdown ends the run loop and the renewals in flight.
func (r *renewer) shutdown() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
	close(r.stop)
	for e := r.pending.Front(); e != nil; e = e.Next() {
		e.Value.(*renewal).cancel()
	}
}
