package leasehold

import (
	"context"
	"maps"
	"time"
)

// AcquireOptions says what is special about one lease. Every call of the Manager takes
// at most one; each zero field means what the Manager's Options say.
type AcquireOptions struct {
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

	// ID proposes the lease's id. Who proposes one can ask again after a crash
	// and get the same lease back, and has to: the Manager gives a grant with a
	// foreign id back only when it is certain that there was one. Do not
	// propose the id of a lease that this process holds already; both handles
	// would be the same lease. Zero: the Manager makes a new one.
	ID ID

	// MaxRenewals limits the renewals; nil leaves it to the store. A lease that
	// has used them up lives on to its safety line.
	MaxRenewals *int

	// NoAutoRenew leaves renewing this lease to the caller.
	NoAutoRenew bool
}

// ask is one intention to hold a resource, however many requests it takes.
type ask struct {
	m       *Manager
	req     AcquireRequest
	madeID  bool          // the Manager made the id, so it may make another
	timeout time.Duration // zero: none
	renew   bool
	works   bool            // a function of Do or Lead will run under the lease
	values  context.Context // for the lease's own context

	// open is true while a lease by this id may exist that nobody holds; lost
	// if that is because an answer was, and the request may still be on its way.
	open, lost bool
}

// newAsk checks the request before anything happens.
func (m *Manager) newAsk(ctx context.Context, resource string, want []AcquireOptions) (*ask, error) {
	var w AcquireOptions
	switch len(want) {
	case 0:
	case 1:
		w = want[0]
	default:
		return nil, m.fault(Invalid("want", "was given %d times; want one at most", len(want)), resource)
	}
	a := &ask{m: m, values: context.WithoutCancel(ctx), renew: !w.NoAutoRenew && !m.o.NoAutoRenew}
	a.req = AcquireRequest{
		Resource: resource, Holder: m.o.Holder, ID: w.ID, TTL: w.TTL,
		MaxRenewals: w.MaxRenewals, Metadata: m.metadata(w.Metadata), Priority: w.Priority,
	}
	setDefault(&a.req.TTL, m.o.TTL)
	a.timeout = w.Timeout
	setDefault(&a.timeout, m.o.AcquireTimeout)
	if a.timeout == NoTimeout {
		a.timeout = 0
	}
	if a.timeout < 0 {
		return nil, m.fault(Invalid("Timeout", "is %v; want zero, NoTimeout or how long to wait", a.timeout), resource)
	}
	if err := a.req.Validate(); err != nil {
		return nil, m.fault(err, resource)
	}
	if a.req.ID.IsZero() {
		a.madeID, a.req.ID = true, NewID()
	}
	return a, nil
}

// metadata merges one lease's pairs into the Manager's. Leases without pairs of
// their own share one map.
func (m *Manager) metadata(own map[string]string) map[string]string {
	if len(own) == 0 {
		return m.o.Metadata
	}
	all := make(map[string]string, len(own)+len(m.o.Metadata))
	maps.Copy(all, m.o.Metadata)
	maps.Copy(all, own)
	return all
}

// fault names the operation and the resource in an error about a bad request.
func (m *Manager) fault(err error, resource string) error {
	e := asError("acquire", resource, err)
	e.Op, e.Resource = "acquire", resource
	return e
}
