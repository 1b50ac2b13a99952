package storetest_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// naive is the simplest store that can be: one lock, one map, the machine. It
// owes the embedded engine nothing, so that the suite is not written after one
// implementation. Its flaw makes it break one promise, to see who notices.
type naive struct {
	flaw  flaw
	start time.Time

	mu      sync.Mutex
	closed  bool
	paused  time.Time // when it closed; only for the flaw that stops time
	rows    map[string]machine.Row
	token   uint64
	history []leasehold.Record
	waiters []*waiter   // in the order of arrival
	timer   *time.Timer // fires when a lease or a reservation ends
	sets    bool        // somebody has requested one
}

func newNaive(f flaw) *naive {
	return &naive{flaw: f, start: time.Now(), rows: map[string]machine.Row{}}
}

func (n *naive) now() machine.Instant {
	return machine.Instant{Clock: machine.Time(time.Since(n.start)), Wall: time.Now().UnixMilli()}
}

func (n *naive) row(resource string) machine.Row {
	if r, ok := n.rows[resource]; ok {
		return r
	}
	return machine.Row{Resource: resource}
}

// known finds the row by an id that it has or had.
func (n *naive) known(id leasehold.ID) *machine.Row {
	for _, r := range n.rows {
		if !id.IsZero() && (r.ID == id || r.Former == id) {
			return &r
		}
	}
	return nil
}

// where is the resource that a call means.
func (n *naive) where(resource string, id leasehold.ID) string {
	if k := n.known(id); resource == "" && k != nil {
		return k.Resource
	}
	return resource
}

func (n *naive) policy() machine.Policy {
	return machine.Policy{
		Revive: n.flaw == revives, ReuseID: n.flaw == reusesIDs, BreakDrains: n.flaw == breaksLate, ReleaseEnded: n.flaw == releasesEnded,
	}
}

// run is every call: check, lock, decide, write down, hand over, answer.
func (n *naive) run(ctx context.Context, invalid error, decide func(machine.Instant) machine.Outcome) (machine.Outcome, machine.Instant, error) {
	if err := n.admit(ctx, invalid); err != nil {
		return machine.Outcome{}, machine.Instant{}, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return machine.Outcome{}, machine.Instant{}, &leasehold.Error{Reason: leasehold.ReasonUnavailable}
	}
	now := n.now()
	o := decide(now)
	n.write(now, o)
	if o.Reason != "" {
		return o, now, n.refusal(now, o)
	}
	if o.Granted {
		n.refuseCycles(now, o.Row.Holder)
	}
	n.serve()
	return o, now, nil
}

func (n *naive) admit(ctx context.Context, invalid error) error {
	if invalid != nil && n.flaw != acceptsAnything {
		return invalid
	}
	if ctx.Err() != nil {
		return &leasehold.Error{Reason: leasehold.ReasonUnavailable, Cause: context.Cause(ctx)}
	}
	return nil
}

func (n *naive) refusal(now machine.Instant, o machine.Outcome) error {
	e := &leasehold.Error{Reason: o.Reason, Field: o.Field, Problem: o.Problem, Resource: o.Row.Resource, Overlap: o.Overlap, Reserved: o.Reserved}
	if o.Reason != leasehold.ReasonHeld && o.Reason != leasehold.ReasonBreaking {
		return e
	}
	if row := n.inTheWay(now, o); row != nil {
		l := n.shown(*row, now)
		e.Current, e.Remaining, e.RetryAfter = &l, l.Remaining, max(0, l.Remaining)
	}
	e.Waiting = len(n.waiting(o.Row.Resource))
	return e
}

func (n *naive) shown(r machine.Row, now machine.Instant) leasehold.Lease {
	if n.flaw == showsIDs {
		return r.Owned(now)
	}
	return r.Lease(now)
}

func (n *naive) write(now machine.Instant, o machine.Outcome) {
	for _, s := range o.Steps {
		n.rows[s.Row.Resource] = s.Row
		silent := n.flaw == forcesSilently && s.Kind == leasehold.KindForceReleased
		if s.Kind != "" && !silent && !healthCheck(s.Row.Resource) {
			n.record(now, leasehold.Record{
				Kind: s.Kind, Resource: s.Row.Resource, Holder: s.Row.Holder, Token: s.Row.Token, Before: s.Before,
				After: s.Row.State, Renewals: int(s.Row.Renewals), Why: s.Why, Details: s.RecordDetails(now),
			})
		}
	}
	if o.Granted {
		n.token = max(n.token, o.Row.Token)
	}
}

func (n *naive) record(now machine.Instant, r leasehold.Record) {
	r.Seq, r.At = uint64(len(n.history)+1), now.WallTime()
	n.history = append(n.history, r)
}

func (n *naive) fresh() machine.Fresh {
	f := machine.Fresh{Token: n.token + 1, ID: leasehold.NewID()}
	if n.flaw == repeatsTokens && n.token > 0 {
		f.Token = n.token
	}
	return f
}

// filled replaces what the request leaves out.
func filled(r leasehold.AcquireRequest) leasehold.AcquireRequest {
	if r.TTL == 0 {
		r.TTL = 5 * time.Minute
	}
	if r.TTL > 0 {
		r.TTL = r.TTL.Truncate(time.Millisecond)
	}
	if r.MaxRenewals == nil {
		unlimited := leasehold.Unlimited
		r.MaxRenewals = &unlimited
	}
	r.Metadata, r.Claims = maps.Clone(r.Metadata), slices.Clone(r.Claims)
	return r
}

// folded is the metadata with its keys in lower case.
func folded(m map[string]string) map[string]string {
	lower := map[string]string{}
	for k, v := range m {
		lower[strings.ToLower(k)] = v
	}
	return lower
}

func (n *naive) acquire(now machine.Instant, r leasehold.AcquireRequest, ahead []machine.Reservation) machine.Outcome {
	if n.flaw == foldsMetadata {
		r.Metadata = folded(r.Metadata)
	}
	conflicts := n.meeting(r)
	if n.flaw == grantsTwice {
		conflicts = slices.DeleteFunc(conflicts, func(c machine.Row) bool {
			return c.Resource == r.Resource && c.Renewals == 0 && c.Holder != r.Holder
		})
	}
	if n.flaw == ignoresModes {
		r, conflicts = allShared(r, conflicts)
	}
	return n.spoil(now, r, machine.AcquireBehind(now, filled(r), n.fresh(), conflicts, ahead, n.known(r.ID), n.policy()))
}

func (n *naive) Acquire(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	o, now, err := n.run(ctx, r.ValidateAll(), func(now machine.Instant) machine.Outcome { return n.acquire(now, r, n.ahead(now, nil)) })
	if err != nil {
		return leasehold.Grant{}, err
	}
	return leasehold.Grant{Lease: o.Row.Owned(now), Idempotent: o.Idempotent}, nil
}

func (n *naive) Renew(ctx context.Context, r leasehold.RenewRequest) (leasehold.Lease, error) {
	o, now, err := n.run(ctx, r.Validate(), func(now machine.Instant) machine.Outcome {
		if r.TTL > 0 {
			r.TTL = r.TTL.Truncate(time.Millisecond)
		}
		o := machine.Renew(now, r, n.fresh(), n.row(n.where(r.Resource, r.ID)), n.policy())
		if n.flaw == growsRenewals && o.Reason == "" && len(o.Steps) > 0 {
			o.Row.Ends += machine.Time(o.Row.Renewals) * machine.Time(time.Second)
			o.Steps[len(o.Steps)-1].Row = o.Row
		}
		return o
	})
	if err != nil {
		return leasehold.Lease{}, err
	}
	return o.Row.Owned(now), nil
}

func (n *naive) Release(ctx context.Context, r leasehold.ReleaseRequest) (leasehold.Lease, error) {
	o, now, err := n.run(ctx, r.ValidateAll(), func(now machine.Instant) machine.Outcome {
		row := n.row(n.where(r.Resource, r.ID))
		if n.flaw == releasesByName {
			r.ID = row.ID
		}
		o := machine.Release(now, r, row, n.policy())
		if n.flaw == losesReleases && o.Row.Token%7 == 0 {
			o.Steps = nil
		}
		return o
	})
	if err != nil {
		return leasehold.Lease{}, err
	}
	return o.Row.Owned(now), nil
}

func (n *naive) Status(ctx context.Context, resource string) (leasehold.Status, error) {
	if err := n.admit(ctx, leasehold.CheckResource(resource)); err != nil {
		return leasehold.Status{}, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return leasehold.Status{}, &leasehold.Error{Reason: leasehold.ReasonUnavailable}
	}
	s := leasehold.Status{Resource: resource}
	now := n.now()
	if r, ok := n.rows[resource]; ok {
		l := n.shown(r, now)
		s.Lease = &l
	}
	for _, r := range n.covering(now, resource) {
		s.Leases = append(s.Leases, n.shown(r, now))
	}
	if s.Leases != nil {
		s.Lease = &s.Leases[0]
	}
	for i, w := range n.waiting(resource) {
		s.Waiters = append(s.Waiters, leasehold.Place{Holder: w.request.Holder, Priority: w.request.Priority, Since: w.since, Position: i + 1})
	}
	return s, nil
}

func (n *naive) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.closed {
		n.closed, n.paused = true, time.Now()
		n.closeQueue()
	}
	return nil
}

// reopened is another store on the same data, as far as memory can be data.
func (n *naive) reopened() *naive {
	_ = n.Close()
	next := newNaive(n.flaw)
	next.start, next.rows, next.token, next.history = n.start, n.rows, n.token, n.history
	next.sets = n.sets
	switch n.flaw {
	case restartsTokens:
		next.token = 0
	case losesClaims:
		for name, row := range next.rows {
			row.Claims = nil
			next.rows[name] = row
		}
	case stopsTime:
		next.start = n.start.Add(time.Since(n.paused))
	}
	return next
}
