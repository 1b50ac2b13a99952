package azblob

import (
	"context"
	"errors"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"

	"github.com/leasehold/leasehold"
)

// Renew restarts the ttl of an active lease.
func (s *Store) Renew(ctx context.Context, r leasehold.RenewRequest) (leasehold.Lease, error) {
	l, err := s.renew(ctx, r)
	if err == nil {
		s.queues.EndsIn(r.Resource, l.Remaining)
	}
	return l, storeError("renew", r.Resource, err)
}

func (s *Store) renew(ctx context.Context, r leasehold.RenewRequest) (leasehold.Lease, error) {
	if err := first(r.Validate(), checkTTL(r.TTL)); err != nil {
		return leasehold.Lease{}, err
	}
	var l leasehold.Lease
	err := s.withOwn(ctx, owned{r.ID, r.Resource, r.Holder, r.Token}, func(ctx context.Context, v view) (err error) {
		ttl := r.TTL
		switch {
		case ttl == 0:
			ttl = v.lease().TTL
		case ttl != leasehold.Infinite:
			ttl = ttl.Truncate(time.Millisecond)
		}
		l, err = s.extend(ctx, v, r.ID, ttl)
		return err
	})
	return l, err
}

// owned is what renew, release and change show of a lease.
type owned struct {
	id       leasehold.ID
	resource string
	holder   string
	token    uint64
}

// withOwn runs f on the lease that is shown, if it is live and matches.
func (s *Store) withOwn(ctx context.Context, o owned, f func(context.Context, view) error) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	switch {
	case o.resource == "":
		return unsupported("a lease is found by its resource only")
	case len(o.resource) > MaxResource:
		return refusal(leasehold.ReasonNotFound)
	}
	unlock, err := s.locks.acquire(ctx, o.resource)
	if err != nil {
		return &leasehold.Error{Reason: leasehold.ReasonUnavailable, Cause: err}
	}
	defer unlock()
	ctx, cancel := s.limited(ctx)
	defer cancel()
	v, fail := s.own(ctx, o.resource, o.id)
	if fail != nil {
		return fail
	}
	if reason := mismatch(&v, o.holder, o.token); reason != "" {
		return refusal(reason)
	}
	return f(ctx, v)
}

// own returns the blob with a live lease of this id. What this process wrote last
// needs no read while the lease is far from its end.
func (s *Store) own(ctx context.Context, resource string, id leasehold.ID) (view, *failure) {
	v, ok := s.known.get(resource, id)
	if ok && v.surelyLiveAt(s.service.clock.now().Add(grain)) {
		return v, nil
	}
	return s.readOwn(ctx, resource, id)
}

func (s *Store) readOwn(ctx context.Context, resource string, id leasehold.ID) (view, *failure) {
	v, f := s.service.load(ctx, resource, id)
	if f != nil {
		s.known.drop(resource)
	}
	return v, f
}

// mismatch compares what was sent besides the id.
func mismatch(v *view, holder string, token uint64) leasehold.Reason {
	switch {
	case holder != "" && holder != v.holder:
		return leasehold.ReasonHolderMismatch
	case token != 0 && token != v.token:
		return leasehold.ReasonTokenMismatch
	}
	return ""
}

// extend restarts the ttl of a lease. The service's lease comes first: metadata
// that says less than the service does no harm.
func (s *Store) extend(ctx context.Context, v view, id leasehold.ID, ttl time.Duration) (leasehold.Lease, error) {
	for try := 0; ; try++ {
		l, f, err := s.extendOnce(ctx, &v, id, ttl)
		if f == nil || f.kind != raced || !paused(ctx, f, try) {
			s.forgetUnless(f == nil && err == nil, v.resource)
			return l, either(f, err)
		}
		if v, f = s.readOwn(ctx, v.resource, id); f != nil { // renewed elsewhere, or the cache is old
			return l, f
		}
	}
}

func (s *Store) forgetUnless(fine bool, resource string) {
	if !fine {
		s.known.drop(resource)
	}
}

func either(f *failure, err error) error {
	if f != nil {
		return f
	}
	return err
}

func (s *Store) extendOnce(ctx context.Context, v *view, id leasehold.ID, ttl time.Duration) (leasehold.Lease, *failure, error) {
	switch {
	case v.state == lease.StateTypeBreaking:
		return leasehold.Lease{}, nil, s.isBreaking(ctx, v)
	case !v.now.IsZero() && !v.surelyLiveAt(v.now):
		return s.expired(ctx, v, id)
	}
	sent := time.Now()
	date, f := s.restart(ctx, v, id, ttl)
	took := time.Since(sent)
	switch {
	case f != nil && f.kind == breaking:
		return leasehold.Lease{}, nil, s.isBreaking(ctx, v)
	case f != nil && f.kind == notLeased: // the service says so of a breaking lease too
		if now, g := s.readOwn(ctx, v.resource, id); g == nil && now.state == lease.StateTypeBreaking {
			return leasehold.Lease{}, nil, s.isBreaking(ctx, &now)
		}
		return leasehold.Lease{}, f, nil
	case f != nil:
		return leasehold.Lease{}, f, nil
	case !v.surelyLiveAt(date): // it may have been revived
		return s.expired(ctx, v, id)
	}
	next := *v
	next.renewed = date.Add(-took).UTC().Truncate(time.Millisecond)
	next.renewals++
	next.ttl, next.infinite, next.mark, next.now = ttl, ttl == leasehold.Infinite, newMark(), date
	if f := s.storeOwn(ctx, &next, id); f != nil {
		return leasehold.Lease{}, f, nil
	}
	s.known.put(next, id)
	l := next.lease()
	l.ID = id
	if l.Remaining != leasehold.Infinite {
		l.Remaining = max(ttl-time.Since(sent), time.Millisecond)
	}
	return l, nil, nil
}

// restart restarts the service's lease. The service renews only for the same
// time; for another one the lease is acquired again with its id, which would also
// bring back one that was broken meanwhile. A break says so before it begins; one
// by another tool is seen by reading the blob first.
func (s *Store) restart(ctx context.Context, v *view, id leasehold.ID, ttl time.Duration) (time.Time, *failure) {
	if seconds(ttl) == seconds(v.lease().TTL) {
		return s.service.renewLease(ctx, v.resource, id, v.etag)
	}
	switch now, f := s.readOwn(ctx, v.resource, id); {
	case f != nil:
		return time.Time{}, f
	case now.etag != v.etag:
		return time.Time{}, &failure{kind: raced}
	case now.state == lease.StateTypeBreaking:
		return time.Time{}, &failure{kind: breaking}
	}
	date, f := s.service.acquireLease(ctx, v.resource, id, ttl, v.etag)
	if f != nil {
		return date, f
	}
	b, f := s.service.loadBreak(ctx, v.resource)
	if f == nil && b.token == v.token {
		_, _ = s.service.releaseLease(ctx, v.resource, id, v.etag)
		f = &failure{kind: notLeased}
	}
	return date, f
}

// storeOwn writes the metadata under the lease. A write whose answer was lost is
// found again by its mark.
func (s *Store) storeOwn(ctx context.Context, v *view, id leasehold.ID) *failure {
	for try := 0; ; try++ {
		etag, modified, f := s.service.store(ctx, &v.record, id, v.etag)
		if f == nil {
			v.etag, v.modified = etag, modified
			return nil
		}
		if f.kind != lost && f.kind != raced || ctx.Err() != nil {
			return f
		}
		now, g := s.service.load(ctx, v.resource, id)
		switch {
		case v.ended && now.mark == v.mark: // notLeased, by ourselves
			v.etag, v.modified = now.etag, now.modified
			return nil
		case g != nil && g.kind == notLeased && v.ended && f.kind == lost:
			return s.endedAnyway(ctx, v)
		case g != nil && g.kind == notLeased:
			return g
		case g != nil:
			return f
		case now.mark == v.mark:
			v.etag, v.modified = now.etag, now.modified
			return nil
		case now.etag != v.etag:
			return &failure{kind: raced}
		case !paused(ctx, f, try):
			return f
		}
	}
}

// endedAnyway looks whether a release whose answer was lost has happened, now that
// its id has no lease.
func (s *Store) endedAnyway(ctx context.Context, v *view) *failure {
	now, f := s.service.load(ctx, v.resource, leasehold.ID{})
	switch {
	case f != nil:
		return &failure{kind: lost, cause: f.cause}
	case now.mark == v.mark:
		v.etag, v.modified = now.etag, now.modified
		return nil
	case now.token == v.token: // broken or expired before
		return &failure{kind: notLeased}
	}
	return &failure{kind: lost, cause: errLeasedAgain}
}

var errLeasedAgain = errors.New("the resource was leased again before the answer was known")

// expired makes sure that a lease whose end has come, or may have, is over. It is
// not where another process has renewed it in time: then the blob has changed.
func (s *Store) expired(ctx context.Context, v *view, id leasehold.ID) (leasehold.Lease, *failure, error) {
	_, f := s.service.releaseLease(ctx, v.resource, id, v.etag)
	if f != nil && f.kind != notLeased && f.kind != noBlob {
		return leasehold.Lease{}, f, nil
	}
	s.known.drop(v.resource)
	s.queues.Wake(v.resource)
	return leasehold.Lease{}, nil, refusal(leasehold.ReasonExpired)
}

func (s *Store) isBreaking(ctx context.Context, v *view) error {
	v.state = lease.StateTypeBreaking
	e := refusal(leasehold.ReasonBreaking)
	e.Remaining = s.shownLease(ctx, v).Remaining
	return e
}
