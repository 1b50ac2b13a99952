package leasehold

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// AcquireOptions says what is special about one lease. Every call of the Manager
// takes at most one; each zero field means what the Manager's Options say.
type AcquireOptions struct {
	// Claims, in place of the resource's name, which must then be empty, request one
	// lease on several names or patterns, all or none: one Held, one token. The store
	// names the lease. One that grants no Claims answers ErrUnsupported.
	//
	// To upgrade or downgrade, acquire again with the ID of the handle and the same
	// claims in other modes. The answer is a handle of its own with a new token, and
	// the only one to use and to release from then on: the earlier one is lost at its
	// next renewal.
	Claims []Claim

	// TTL is the length of this lease, or Infinite.
	TTL time.Duration

	// Metadata is added to that of the Options, and wins over it.
	Metadata map[string]string

	// Priority decides who is served first where the store has a queue: the
	// higher, then the earlier. -100 to 100.
	Priority int

	// Timeout is how long to wait; NoTimeout waits until the context ends.
	// TryAcquire ignores it.
	Timeout time.Duration

	// ID proposes the lease's id. With it a caller can acquire again after a
	// crash and get the same lease back, and has to: the Manager releases a
	// grant with a proposed id only when it is certain that there was one. Do
	// not propose the id of a lease that this process holds already; both
	// handles would be the same lease. Zero: the Manager makes a new one.
	ID ID

	// MaxRenewals limits the renewals; nil leaves it to the store. A lease that
	// has used them up lives on to its safety line.
	MaxRenewals *int

	// NoAutoRenew leaves renewing this lease to the caller.
	NoAutoRenew bool
}

// acquisition is one acquisition under way, however many requests it takes.
type acquisition struct {
	m        *Manager
	req      AcquireRequest
	madeID   bool          // the Manager made the id, so it may make another
	timeout  time.Duration // zero: none
	renew    bool
	runsFunc bool            // a function of Do or Lead will run under the lease
	values   context.Context // for the lease's own context
	origin   context.Context // what the operation carries

	name       string // of the lease; empty until a set is granted, which the store names
	unclaimed  bool   // a lease by this id may exist that nobody holds
	answerLost bool   // … because an answer was lost: the request may still be on its way
}

// newAcquisition validates the request before anything happens.
func newAcquisition(ctx context.Context, m *Manager, resource string, options []AcquireOptions) (*acquisition, error) {
	var o AcquireOptions
	switch len(options) {
	case 0:
	case 1:
		o = options[0]
	default:
		return nil, acquireError(Invalid("options", "are given %d times; want at most one", len(options)), resource)
	}
	values := context.WithoutCancel(ctx)
	a := &acquisition{m: m, name: resource, values: values, origin: values, renew: !o.NoAutoRenew && !m.options.NoAutoRenew}
	a.req = AcquireRequest{
		Resource: resource, Claims: slices.Clone(o.Claims), Holder: m.options.Holder, ID: o.ID, TTL: o.TTL,
		MaxRenewals: o.MaxRenewals, Metadata: m.options.Metadata, Priority: o.Priority,
	}
	if len(o.Metadata) > 0 { // leases without pairs of their own share one map
		a.req.Metadata = make(map[string]string, len(o.Metadata)+len(m.options.Metadata))
		maps.Copy(a.req.Metadata, m.options.Metadata)
		maps.Copy(a.req.Metadata, o.Metadata)
	}
	setDefault(&a.req.TTL, m.options.TTL)
	a.timeout = o.Timeout
	setDefault(&a.timeout, m.options.AcquireTimeout)
	if a.timeout == NoTimeout {
		a.timeout = 0
	}
	if a.timeout < 0 {
		return nil, acquireError(Invalid("Timeout", "is %v; want zero, NoTimeout or how long to wait", a.timeout), resource)
	}
	if err := a.req.ValidateAll(); err != nil {
		return nil, acquireError(err, resource)
	}
	if a.req.ID.IsZero() {
		a.madeID, a.req.ID = true, NewID()
	}
	return a, nil
}

// acquireError names the operation and the resource in an error about a value.
func acquireError(err error, resource string) error {
	e := asError("acquire", resource, err)
	e.Op, e.Resource = "acquire", resource
	return e
}

// acquire requests the lease once or waits for it, as the kind says.
func (a *acquisition) acquire(ctx context.Context, kind OperationKind) (*Held, error) {
	op := Operation{Kind: kind, Resource: a.req.Resource, Claims: a.req.Claims, Holder: a.req.Holder, TTL: a.req.TTL, Metadata: a.req.Metadata}
	request := (*acquisition).try
	if kind == OperationAcquire {
		op.Timeout = a.timeout
		request = (*acquisition).wait
	}
	traced, ended := a.m.options.startOperation(ctx, op)
	if a.m.options.Trace != nil {
		a.origin = context.WithoutCancel(traced)
	}
	h, err := a.claim(traced, request)
	if err != nil {
		ended(0, err)
		return nil, err
	}
	ended(h.token, nil)
	return h, nil
}

// claim requests the lease, and answers with a lease that the Manager keeps or
// with none: what the caller does not receive is released.
func (a *acquisition) claim(ctx context.Context, request func(*acquisition, context.Context) (*Held, error)) (*Held, error) {
	if ctx.Err() != nil {
		return nil, a.cancelled(ctx, nil, 0)
	}
	h, err := request(a, ctx)
	if err == nil && ctx.Err() != nil {
		err = a.cancelled(ctx, nil, 0)
	}
	if err == nil {
		err = a.m.renewer.add(h)
	}
	if err == nil {
		return h, nil
	}
	if h != nil && !a.madeID {
		// Now, not in the background: after the error the caller may acquire
		// again with its id, and a late release would end that lease.
		releaseUnclaimed(a.m.ctx, a.origin, a.m.store, a.abandon(), false)
		a.unclaimed = false
	}
	a.startRelease()
	if errors.Is(context.Cause(ctx), errClosed) {
		return nil, closedError(a.req.Resource)
	}
	return nil, err
}

// try sends one request, and repeats it once where the answer was lost.
func (a *acquisition) try(ctx context.Context) (*Held, error) {
	h, err := a.send(ctx, a.m.store.Acquire, callTimeout)
	if err != nil && a.unclaimed && ctx.Err() == nil {
		h, err = a.send(ctx, a.m.store.Acquire, callTimeout)
	}
	return h, err
}

// send makes one request and turns a grant into a lease that can be handed out.
func (a *acquisition) send(ctx context.Context, call func(context.Context, AcquireRequest) (Grant, error), limit time.Duration) (*Held, error) {
	sent := a.m.clock.now()
	g, err := callWithin(ctx, limit, func(ctx context.Context) (Grant, error) { return call(ctx, a.req) })
	if err != nil {
		e := asError("acquire", a.req.Resource, err)
		a.noteError(e)
		return nil, e
	}
	a.unclaimed = true // until the Manager keeps it
	if len(a.req.Claims) > 0 {
		a.name = g.Resource
	}
	h := &Held{
		r: &a.m.renewer, resource: a.name, holder: a.req.Holder, id: a.req.ID, token: g.Token,
		metadata: g.Metadata, claims: g.Claims, notes: g.Notes, acquiredAt: g.AcquiredAt, renew: a.renew, runsFunc: a.runsFunc, values: a.values, origin: a.origin,
	}
	if g.Waited == WaitUnknown {
		return a.confirm(ctx, h)
	}
	now := a.m.clock.now()
	h.restart(min(sent+g.Waited, now), g.Lease)
	if now >= h.line { // the answer came late
		return a.confirm(ctx, h)
	}
	return h, nil
}

// confirm renews a lease of which nobody knows here how much is left: the store
// does not know how long the request waited, or its answer came too late. The
// ttl then counts from just before that renewal. It is worth trying again for
// about as long as the lease can last.
func (a *acquisition) confirm(ctx context.Context, h *Held) (*Held, error) {
	limit := 3 * callTimeout
	if a.req.TTL != Infinite {
		limit = min(limit, a.req.TTL)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	pause := a.m.options.retryOf(a.req.TTL)
	for {
		sent := a.m.clock.now()
		l, err := callWithin(ctx, limit/2, func(ctx context.Context) (Lease, error) { return a.m.callRenew(ctx, h) })
		if err == nil {
			h.restart(sent, l)
			if a.m.clock.now() < h.line {
				return h, nil
			}
			err = &Error{Reason: ReasonUnknown, Op: "renew", Resource: h.resource}
		}
		if classify(err) != transient || !sleep(ctx, jitter(pause)) {
			return nil, a.unconfirmed(err)
		}
		pause = min(2*pause, limit/4)
	}
}

// unconfirmed says why a grant could not be confirmed. One without renewals
// never can: acquiring again would only repeat it.
func (a *acquisition) unconfirmed(err error) error {
	e := asError("acquire", a.req.Resource, err)
	switch classify(e) {
	case gone:
		a.unclaimed = false
	case exhausted:
		return acquireError(Invalid("MaxRenewals", "leaves no renewal to confirm a grant with, and this store cannot tell how long a request waited; allow one more"), a.req.Resource)
	}
	return e
}

// noteError keeps track of whether a lease by this id may exist.
func (a *acquisition) noteError(e *Error) {
	switch e.Reason.Sentinel() {
	case ErrUnknown:
		a.unclaimed, a.answerLost = true, true
	case ErrHeld, ErrLost, ErrTimeout, ErrNotFound:
		a.unclaimed = a.unclaimed && (e.Reason == ReasonBreaking || e.Reason == ReasonMaxRenewals) ||
			e.Reason == ReasonCancelled // the grant may have come at the same moment
	}
}

// startRelease releases, in the background, a lease that nobody received. It
// spares a proposed id, because it is not certain that there is a lease and the
// caller may acquire again with the id.
func (a *acquisition) startRelease() {
	if !a.unclaimed || !a.madeID {
		return
	}
	req, answerLost := a.abandon(), a.answerLost
	a.unclaimed, a.answerLost = false, false
	a.m.background.start(func() { releaseUnclaimed(a.m.ctx, a.origin, a.m.store, req, answerLost) })
}

// abandon is the request that releases a lease which nobody received. A set whose
// answer was lost has no name here; the store then finds it by its id.
func (a *acquisition) abandon() ReleaseRequest {
	return ReleaseRequest{ID: a.req.ID, Resource: a.name, Holder: a.req.Holder, Why: WhyAbandoned}
}

// cancelled is the error of a wait that its context ended: it matches ErrTimeout,
// the context's error and cause, and the last error before.
func (a *acquisition) cancelled(ctx context.Context, last error, waited time.Duration) error {
	cause := context.Cause(ctx)
	if !errors.Is(cause, ctx.Err()) {
		cause = fmt.Errorf("%w: %w", ctx.Err(), cause)
	}
	e := &Error{Reason: ReasonCancelled, Op: "acquire", Resource: a.req.Resource, Waited: waited, Cause: cause}
	if last != nil {
		e.Cause = fmt.Errorf("%w; before that: %w", cause, last)
		e.copyHolder(last)
	}
	return e
}

// callWithin makes a call that ends after the limit at the latest.
func callWithin[T any](ctx context.Context, limit time.Duration, call func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return call(ctx)
}
