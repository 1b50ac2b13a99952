package redis

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/sleep"
)

// minRemaining is the least that must be left of a lease when its answer arrives.
const minRemaining = 100 * time.Millisecond

// Acquire implements leasehold.Store.
func (s *Store) Acquire(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	if err := r.Validate(); err != nil {
		return leasehold.Grant{}, opError("acquire", r.Resource, err)
	}
	s.queues.Yield(ctx, r.Resource)
	return s.tryAcquire(ctx, r, attempt{})
}

// attempt says how an acquire is tried.
type attempt struct {
	waits  time.Duration // for so long a release wakes the waiters of this process
	repeat bool          // grant nothing new: others wait
}

// tryAcquire acquires once.
func (s *Store) tryAcquire(ctx context.Context, r leasehold.AcquireRequest, how attempt) (leasehold.Grant, error) {
	id, made := r.ID, r.ID.IsZero()
	if made {
		id = leasehold.NewID()
	}
	sent := time.Now()
	a, err := s.acquire(ctx, r, id, made, how)
	if err != nil {
		return leasehold.Grant{}, err
	}
	if err := s.refusal("acquire", r.Resource, r.TTL, a); err != nil {
		return leasehold.Grant{}, err
	}
	g := leasehold.Grant{Lease: a.row.owned(r.Resource, a.now), Idempotent: a.flag == "idempotent"}
	if a.flag == "granted" {
		g.Metadata = maps.Clone(r.Metadata)
	}
	s.sweeper.EndsIn(g.Remaining)
	if tooLate(g.TTL, sent) {
		return leasehold.Grant{}, s.giveBack(g, made)
	}
	return g, nil
}

// acquire runs the script. A grant that nobody received is released, unless its
// id was proposed.
func (s *Store) acquire(ctx context.Context, r leasehold.AcquireRequest, id leasehold.ID, made bool, how attempt) (answer, error) {
	limit := ""
	if r.MaxRenewals != nil {
		limit = strconv.Itoa(*r.MaxRenewals)
	}
	q := request{op: "acquire", resource: r.Resource, script: acquireScript, mark: newMark(), args: []any{
		id.Reveal(), flag(made), r.Holder, milliseconds(r.TTL), limit, r.Caller, how.waits.Milliseconds(), flag(how.repeat),
	}}
	for key, value := range r.Metadata {
		q.args = append(q.args, key, value)
	}
	if made {
		q.late = func(a answer, err error) {
			if err != nil || a.reason == "" {
				s.abandon(r.Resource, id)
			}
		}
	}
	a, err := s.acquireIndexed(ctx, q, r, id)
	if err != nil && made && isForgotten(err) {
		s.abandon(r.Resource, id)
	}
	return a, err
}

// isForgotten reports whether the outcome is unknown and nobody gets it later.
func isForgotten(err error) bool {
	var left lost // then late gets it
	return leasehold.ReasonOf(err) == leasehold.ReasonUnknown && !errors.As(err, &left)
}

// tooLate reports whether an answer came when hardly anything was left of the
// lease.
func tooLate(ttl time.Duration, sent time.Time) bool {
	return ttl != leasehold.Infinite && ttl-drift(ttl)-time.Since(sent) < minRemaining
}

var errTooLate = errors.New("the answer came when hardly anything was left of the lease")

// giveBack ends a lease whose answer came too late to be of use.
func (s *Store) giveBack(g leasehold.Grant, made bool) error {
	if made {
		s.abandon(g.Resource, g.ID)
	}
	return s.failure("acquire", g.Resource, lost{errTooLate})
}

// Renew implements leasehold.Store.
func (s *Store) Renew(ctx context.Context, r leasehold.RenewRequest) (leasehold.Lease, error) {
	if err := r.Validate(); err != nil {
		return leasehold.Lease{}, opError("renew", r.Resource, err)
	}
	resource, err := s.resourceOf(ctx, "renew", r.ID, r.Resource)
	if err != nil {
		return leasehold.Lease{}, err
	}
	sent := time.Now()
	a, err := s.renewIndexed(ctx, request{op: "renew", resource: resource, script: renewScript, mark: newMark(), args: []any{
		r.ID.Reveal(), r.Holder, r.Token, milliseconds(r.TTL),
	}}, r)
	if err != nil {
		return leasehold.Lease{}, err
	}
	if err := s.refusal("renew", resource, r.TTL, a); err != nil {
		return leasehold.Lease{}, err
	}
	l := a.row.owned(resource, a.now)
	s.queues.EndsIn(resource, l.Remaining)
	s.sweeper.EndsIn(l.Remaining)
	if tooLate(l.TTL, sent) {
		return leasehold.Lease{}, s.failure("renew", resource, lost{errTooLate})
	}
	return l, nil
}

// Release implements leasehold.Store.
func (s *Store) Release(ctx context.Context, r leasehold.ReleaseRequest) (leasehold.Lease, error) {
	if err := r.Validate(); err != nil {
		return leasehold.Lease{}, opError("release", r.Resource, err)
	}
	resource, err := s.resourceOf(ctx, "release", r.ID, r.Resource)
	if err != nil {
		return leasehold.Lease{}, err
	}
	wake := func(answer, error) { s.queues.Wake(resource) }
	a, err := s.execute(ctx, request{op: "release", resource: resource, script: releaseScript, mark: newMark(), late: wake, args: []any{
		r.ID.Reveal(), r.Holder, r.Token, r.Why,
	}})
	if err != nil {
		return leasehold.Lease{}, err
	}
	if err := s.refusal("release", resource, 0, a); err != nil {
		return leasehold.Lease{}, err
	}
	s.endIndexed(ctx, resource, a)
	s.queues.Wake(resource)
	return a.row.owned(resource, a.now), nil
}

// Break implements leasehold.Breaker.
func (s *Store) Break(ctx context.Context, r leasehold.BreakRequest) (leasehold.Lease, error) {
	if err := r.Validate(); err != nil {
		return leasehold.Lease{}, opError("break", r.Resource, err)
	}
	var period time.Duration
	if r.Period != nil {
		period = *r.Period
	}
	a, err := s.execute(ctx, request{op: "break", resource: r.Resource, script: breakScript, mark: newMark(), args: []any{
		period.Milliseconds(), r.Why,
	}})
	if err != nil {
		return leasehold.Lease{}, err
	}
	if err := s.refusal("break", r.Resource, 0, a); err != nil {
		return leasehold.Lease{}, err
	}
	l := a.row.lease(r.Resource, a.now)
	s.breakIndexed(ctx, r.Resource, a)
	s.queues.EndsIn(r.Resource, l.Remaining)
	s.sweeper.EndsIn(l.Remaining)
	return l, nil
}

// Status implements leasehold.Store.
func (s *Store) Status(ctx context.Context, resource string) (leasehold.Status, error) {
	if err := leasehold.CheckResource(resource); err != nil {
		return leasehold.Status{}, opError("status", resource, err)
	}
	a, err := s.run(ctx, request{op: "status", resource: resource, script: statusScript, args: []any{""}})
	if err != nil {
		return leasehold.Status{}, s.readFailure("status", resource, err)
	}
	status := leasehold.Status{Resource: resource}
	if a.row != nil {
		l := a.row.lease(resource, a.now)
		status.Lease = &l
	}
	return status, nil
}

// abandon releases a lease that nobody received, in the background. If that
// fails, the lease ends by itself.
func (s *Store) abandon(resource string, id leasehold.ID) {
	s.start(func(ctx context.Context) {
		r := leasehold.ReleaseRequest{ID: id, Resource: resource, Why: leasehold.WhyAbandoned}
		for pause := 100 * time.Millisecond; pause < 10*time.Second; pause *= 2 {
			_, err := s.Release(ctx, r)
			switch leasehold.ReasonOf(err) {
			case leasehold.ReasonUnknown, leasehold.ReasonUnavailable, leasehold.ReasonNotFound: // it may come yet
			default:
				return
			}
			if !sleep.For(ctx, pause) {
				return
			}
		}
	})
}

// refusal turns the script's reason into the error, if there is one.
func (s *Store) refusal(op, resource string, ttl time.Duration, a answer) error {
	if a.reason == "" {
		return nil
	}
	e := &leasehold.Error{Reason: leasehold.Reason(a.reason), Op: op, Resource: resource, Store: kind, Field: a.field, Problem: a.problem}
	switch {
	case a.field == "ttl_seconds":
		most, _ := strconv.ParseInt(a.problem, 10, 64)
		return opError(op, resource, leasehold.CheckTTL(ttl, time.Duration(most)*time.Millisecond))
	case a.field == "to_holder":
		e.Problem = "holds the lease already; name another holder"
	case e.Reason == leasehold.ReasonUnavailable:
		e.Problem, e.Cause = "", &described{"redis", errors.New(a.problem)}
	}
	if a.row == nil {
		return e
	}
	l := a.row.lease(resource, a.now)
	switch {
	case op == "acquire" && (e.Reason == leasehold.ReasonHeld || e.Reason == leasehold.ReasonBreaking):
		e.Current = &l
		e.RetryAfter = max(l.Remaining, 0)
		e.Remaining = breakRemaining(l)
	case e.Reason == leasehold.ReasonBreaking:
		e.Remaining = l.Remaining
	}
	return e
}

func breakRemaining(l leasehold.Lease) time.Duration {
	if l.State == leasehold.StateBreaking {
		return l.Remaining
	}
	return 0
}

// opError adds what the store knows to an error of the request.
func opError(op, resource string, err error) error {
	if e, ok := err.(*leasehold.Error); ok {
		e.Op, e.Resource, e.Store = op, resource, kind
	}
	return err
}
