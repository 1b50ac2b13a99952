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
// the context ends: that is before the store can give the resource to somebody
// else, by a tenth of the ttl unless Options.SafetyThreshold says otherwise.
type Held struct {
	m *Manager

	// These never change.
	resource   string
	holder     string
	id         ID
	token      uint64
	metadata   map[string]string
	acquiredAt time.Time
	renew      bool            // the Manager renews
	works      bool            // a function of Do or Lead runs under it
	values     context.Context // what the lease's context carries

	// The rest is guarded by m.mu. Instants are readings of m.clock.
	phase     phase
	place     [2]int32
	renewals  int
	expiresAt time.Time
	since     time.Duration // the ttl counts from here
	line      time.Duration // declared lost at this instant; never, if infinite
	next      time.Duration // when to renew; never, if not planned
	due       time.Duration // the sooner of the two
	failures  int           // since the last success
	lastErr   *Error        // the last of them
	flight    *flight       // the renewal under way, if any
	ctx       context.Context
	cancel    context.CancelCauseFunc
	end       *Error        // why it is over
	gone      bool          // the store itself has said that it is over
	done      chan struct{} // made by the first Release, closed when it is through
	result    error         // of that Release
}

// phase is where a held lease stands, as far as this process knows.
type phase uint8

const (
	phaseHeld     phase = iota
	phaseBreaking       // being broken: ends at its line, which came nearer
	phaseSpent          // no renewals left: ends at its line, if it has one
	phaseOver           // lost or released
)

// never is an instant that does not come.
const never = time.Duration(math.MaxInt64)

// String names the lease by resource, holder and token, never by its id.
func (h *Held) String() string {
	return fmt.Sprintf("lease on %q held by %q (token %d)", h.resource, h.holder, h.token)
}

// Format prints String for every verb: package fmt asks no methods of
// unexported fields, so the id in there would print itself.
func (h *Held) Format(f fmt.State, _ rune) { io.WriteString(f, h.String()) }

// LogValue keeps the id out of structured logs.
func (h *Held) LogValue() slog.Value {
	return slog.GroupValue(slog.String("resource", h.resource), slog.String("holder", h.holder), slog.Uint64("token", h.token))
}

// Resource returns the name of the resource.
func (h *Held) Resource() string { return h.resource }

// Holder returns the name under which the lease is held.
func (h *Held) Holder() string { return h.holder }

// ID returns the secret handle of the lease. It does not print.
func (h *Held) ID() ID { return h.id }

// Token returns the fencing token. Send it along with whatever you do to the
// resource, and let the resource refuse lower ones.
func (h *Held) Token() uint64 { return h.token }

// Metadata returns the lease's metadata. It is shared: read it, do not change it.
func (h *Held) Metadata() map[string]string { return h.metadata }

// AcquiredAt returns when the store granted the lease, for people.
func (h *Held) AcquiredAt() time.Time { return h.acquiredAt }

// ExpiresAt returns when the lease ends if it is not renewed, by the store's
// last answer; zero if it is infinite. It is for people: what counts is Err
// and Context, which go by the monotonic clock and end earlier.
func (h *Held) ExpiresAt() time.Time {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	return h.expiresAt
}

// Renewals returns how often the lease has been renewed, by the store's count.
func (h *Held) Renewals() int {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	return h.renewals
}

// Err returns nil while the lease is held, and then why it is not: an *Error
// that matches ErrLost. Unlike the context, which can be late by half a second
// after the machine woke from sleep, Err looks at the clock itself; call it
// right before a step that cannot be undone.
func (h *Held) Err() error {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	h.settle(h.m.clock.now())
	if h.end == nil {
		return nil
	}
	return h.end
}

// Context returns a context that ends when the lease is lost or released, or
// when the Manager closes. Its cause is then an *Error that matches ErrLost and
// whose Reason says more. It carries the values of the context with which the
// lease was acquired, not its deadline. Under Do and Lead it is the function's
// context, and also ends when theirs does.
func (h *Held) Context() context.Context {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	if h.ctx == nil {
		h.setContext(h.values)
	}
	h.settle(h.m.clock.now())
	return h.ctx
}

// bind makes the context for a function of Do or Lead.
func (h *Held) bind(parent context.Context) context.Context {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
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
	case h.m.closing != nil:
		h.cancel(h.m.closing)
	}
}

// conclude ends the lease in this process.
func (h *Held) conclude(why *Error) {
	h.phase, h.end = phaseOver, why
	h.m.due.drop(h)
	h.m.ready.drop(h)
	if h.flight != nil {
		h.flight.cancel()
	}
	if h.cancel != nil {
		h.cancel(why)
	}
}

// info names the lease in an event.
func (h *Held) info() EventInfo {
	return EventInfo{Resource: h.resource, Holder: h.holder, Token: h.token, Time: time.Now()}
}
