package leasehold

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"time"
)

// Held is a lease that this process holds, or held: a handle from a Manager. It
// costs some hundred bytes and no goroutine. All methods may be called at any
// time from any goroutine.
//
// The lease is held as long as its context lives. Work under it must stop when
// the context ends: that is before the store can grant the resource to another
// holder, by a tenth of the ttl unless Options.SafetyThreshold says otherwise.
type Held struct {
	r *renewer

	// These never change.
	resource   string
	holder     string
	id         ID
	token      uint64
	metadata   map[string]string
	claims     []Claim
	notes      []Note
	acquiredAt time.Time
	renew      bool            // the Manager renews
	runsFunc   bool            // a function of Do or Lead runs under it
	values     context.Context // what the lease's context carries
	origin     context.Context // what the operation carried that acquired it

	// The rest is guarded by r.mu.
	deadline
	phase     phase
	index     [2]int32 // in the heaps, from 1; zero: not there
	renewals  int
	expiresAt time.Time
	failures  int      // since the last success
	lastErr   *Error   // the last of them
	renewal   *renewal // in flight, if any
	ctx       context.Context
	cancel    context.CancelCauseFunc
	end       *Error        // why it is over
	gone      bool          // the store itself has said that it is over
	done      chan struct{} // made by the first Release, closed when it is done
	result    error         // of that Release
}

// phase is where a held lease stands, as far as this process knows.
type phase uint8

const (
	phaseHeld      phase = iota
	phaseBreaking        // being broken: ends at its line, which came nearer
	phaseExhausted       // no renewals left: ends at its line, if it has one
	phaseOver            // lost or released
)

// never is an instant that does not come.
const never = time.Duration(math.MaxInt64)

// String names the lease by resource, holder and token, never by its id.
func (h *Held) String() string {
	return fmt.Sprintf("lease on %q held by %q (token %d)", h.resource, h.holder, h.token)
}

// Format prints String for every verb: package fmt calls no methods of
// unexported fields, so it would print the id.
func (h *Held) Format(f fmt.State, _ rune) { io.WriteString(f, h.String()) }

// LogValue keeps the id out of structured logs.
func (h *Held) LogValue() slog.Value {
	return slog.GroupValue(slog.String("resource", h.resource), slog.String("holder", h.holder), slog.Uint64("token", h.token))
}

// Resource returns the name of the resource, or of the lease where it covers several.
func (h *Held) Resource() string { return h.resource }

// Holder returns the name under which the lease is held.
func (h *Held) Holder() string { return h.holder }

// ID returns the secret handle of the lease. It does not print.
func (h *Held) ID() ID { return h.id }

// Token returns the fencing token. Send it with every operation on the resource,
// and let the resource refuse lower ones.
func (h *Held) Token() uint64 { return h.token }

// Metadata returns the lease's metadata. It is shared: read it, do not change it.
func (h *Held) Metadata() map[string]string { return h.metadata }

// Claims returns what the lease covers if it was acquired by Claims, in their order;
// else nil. They are shared: read them, do not change them.
func (h *Held) Claims() []Claim { return h.claims }

// Notes returns what the holders before left for this one. They are shared as well.
func (h *Held) Notes() []Note { return h.notes }

// AcquiredAt returns when the store granted the lease, for people.
func (h *Held) AcquiredAt() time.Time { return h.acquiredAt }

// ExpiresAt returns when the lease ends if it is not renewed, by the store's
// last answer; zero if it is infinite. It is for people: what counts is Err
// and Context, which go by the monotonic clock and end earlier.
func (h *Held) ExpiresAt() time.Time {
	h.r.mu.Lock()
	defer h.r.mu.Unlock()
	return h.expiresAt
}

// Renewals returns how often the lease has been renewed, by the store's count.
func (h *Held) Renewals() int {
	h.r.mu.Lock()
	defer h.r.mu.Unlock()
	return h.renewals
}

// Err returns nil while the lease is held, and then why it is not: an *Error
// that matches ErrLost. Unlike the context, which can be late by half a second
// after the machine was suspended, Err reads the clock itself; call it right
// before a step that cannot be undone.
func (h *Held) Err() error {
	h.r.mu.Lock()
	defer h.r.mu.Unlock()
	h.r.loseIfPastLine(h, h.r.clock.now())
	if h.end == nil {
		return nil
	}
	return h.end
}

// Remaining returns how long the lease is still held without another renewal:
// to its safety line, at which the context ends, and to its end, before which
// the store cannot have granted the resource to another holder. Between the two
// work must stop. Both are Infinite for a lease without an end, and zero once
// the store has said that the lease is over or the lease was released; a lease
// that ran out has no line left but may have some of its time.
//
// It is for callers that pass the deadline on, to another process, say. They
// must read their own clock before they call, never after: else the time in
// between is counted twice.
func (h *Held) Remaining() (line, end time.Duration) {
	h.r.mu.Lock()
	defer h.r.mu.Unlock()
	now := h.r.clock.now()
	h.r.loseIfPastLine(h, now)
	released := h.end != nil && h.end.Reason == ReasonReleased
	switch {
	case h.gone || released:
		return 0, 0
	case h.line == never:
		return Infinite, Infinite
	}
	length := h.length(&h.r.options)
	if h.phase == phaseBreaking || h.end != nil && h.end.Reason == ReasonBroken {
		length = min(length, breakRemaining(h.lastErr)) // the line was moved, for the rest of the period
	}
	line = max(h.line-now, 0)
	return line, max(h.line+h.r.options.marginOf(length)-now, line)
}

// Context returns a context that ends when the lease is lost or released, or
// when the Manager closes. Its cause is then an *Error that matches ErrLost and
// whose Reason says more. It carries the values of the context with which the
// lease was acquired, not its deadline. Under Do and Lead it is the function's
// context, and also ends when theirs does.
func (h *Held) Context() context.Context {
	h.r.mu.Lock()
	defer h.r.mu.Unlock()
	if h.ctx == nil {
		h.setContext(h.values)
	}
	h.r.loseIfPastLine(h, h.r.clock.now())
	return h.ctx
}

// bindContext makes the context for a function of Do or Lead.
func (h *Held) bindContext(parent context.Context) context.Context {
	h.r.mu.Lock()
	defer h.r.mu.Unlock()
	h.setContext(parent)
	return h.ctx
}

// setContext makes the context, ended at once if there is a reason already.
// Most leases never need one, and it is half the price of a lease.
func (h *Held) setContext(parent context.Context) {
	h.ctx, h.cancel = context.WithCancelCause(parent)
	switch {
	case h.end != nil:
		h.cancel(h.end)
	case h.r.closing != nil:
		h.cancel(h.r.closing)
	}
}

// Renew renews the lease now, whether or not the Manager does. It returns nil
// when the store has confirmed it. An error that does not match ErrLost leaves
// the lease held.
func (h *Held) Renew(ctx context.Context) error {
	h.r.mu.Lock()
	sent := h.r.clock.now()
	h.r.loseIfPastLine(h, sent)
	end, left := h.end, min(h.line-sent, callTimeout)
	h.r.mu.Unlock()
	if end != nil {
		return end
	}
	ctx, ended := h.r.options.startOperation(ctx, h.operation(OperationRenew))
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	l, err := h.r.callRenew(ctx, h)
	err = h.applyRenew(sent, l, err)
	ended(h.token, err)
	return err
}

// applyRenew applies the answer to Renew and returns what Renew returns.
func (h *Held) applyRenew(sent time.Duration, l Lease, err error) error {
	h.r.mu.Lock()
	defer h.r.mu.Unlock()
	h.r.apply(h, sent, l, err, h.r.clock.now())
	switch {
	case h.end != nil:
		return h.end
	case err != nil:
		return asError("renew", h.resource, err)
	}
	return nil
}

// restart counts the ttl anew after a grant or a renewal. Since is the moment
// before the request was sent, plus what the store says it waited: the store
// cannot have started to count earlier, so what is counted here ends first.
func (h *Held) restart(since time.Duration, l Lease) {
	h.failures, h.lastErr = 0, nil
	h.renewals, h.expiresAt = l.Renewals, l.ExpiresAt
	h.deadline.restart(&h.r.options, since, lengthOf(l), h.renew)
}

// noteFailure remembers a failed renewal.
func (h *Held) noteFailure(err error) {
	h.failures++
	h.lastErr = asError("renew", h.resource, err)
}

// info names the lease in an event.
func (h *Held) info() EventInfo {
	return EventInfo{Resource: h.resource, Holder: h.holder, Token: h.token, Time: time.Now(), ctx: h.origin}
}

// operation describes an operation on the lease.
func (h *Held) operation(kind OperationKind) Operation {
	return Operation{Kind: kind, Resource: h.resource, Claims: h.claims, Holder: h.holder, Token: h.token, Metadata: h.metadata, Acquired: h.origin}
}
