package azblob

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"

	"github.com/leasehold/leasehold"
)

// Acquire tries once. It comes behind those who wait here.
func (s *Store) Acquire(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	if err := s.prepare(ctx, &r); err != nil {
		return leasehold.Grant{}, storeError("acquire", r.Resource, err)
	}
	s.queues.Yield(ctx, r.Resource)
	return s.acquire(ctx, r)
}

// Wait acquires, and waits while the resource is held. Waiters of this process are
// served by priority and in order; among processes whoever comes first is first.
func (s *Store) Wait(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	if err := s.prepare(ctx, &r); err != nil {
		return leasehold.Grant{}, storeError("acquire", r.Resource, err)
	}
	return s.queues.Wait(ctx, r)
}

// Waiting returns how many wait for the resource in this process.
func (s *Store) Waiting(resource string) int { return s.queues.Waiting(resource) }

// prepare validates a request and fills in what it leaves out.
func (s *Store) prepare(ctx context.Context, r *leasehold.AcquireRequest) error {
	if err := first(r.Validate(), checkTTL(r.TTL), checkName(r.Resource), s.usable(ctx)); err != nil {
		return err
	}
	if r.MaxRenewals != nil && *r.MaxRenewals != leasehold.Unlimited {
		return unsupported("renewals cannot be limited")
	}
	if r.TTL == 0 {
		r.TTL = s.opts.DefaultTTL
	}
	if r.TTL != leasehold.Infinite {
		r.TTL = r.TTL.Truncate(time.Millisecond)
	}
	return nil
}

// acquisition is one acquire under way.
type acquisition struct {
	*Store
	r  leasehold.AcquireRequest
	id leasehold.ID

	repeats bool // grants nothing new: others wait

	written view   // the blob as we wrote it, to be leased
	mark    string // of that write; empty: none yet
	inDoubt bool   // the answer to a lease call was lost
	sent    time.Time
	seen    azcore.ETag // of a blob that another may be about to lease
}

func (s *Store) acquire(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	return s.start(ctx, &acquisition{Store: s, r: r, id: r.ID})
}

// repeat looks whether a waiter that joins behind others has the lease already.
func (s *Store) repeat(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	return s.start(ctx, &acquisition{Store: s, r: r, id: r.ID, repeats: true})
}

func (s *Store) start(ctx context.Context, a *acquisition) (leasehold.Grant, error) {
	if a.id.IsZero() {
		a.id = leasehold.NewID()
	}
	g, err := a.run(ctx)
	if err != nil && a.inDoubt && a.r.ID.IsZero() {
		s.inBackground(ctx, a.abandon)
	}
	return g, storeError("acquire", a.r.Resource, err)
}

func (a *acquisition) run(ctx context.Context) (leasehold.Grant, error) {
	unlock, err := a.locks.acquire(ctx, a.r.Resource)
	if err != nil {
		return leasehold.Grant{}, &leasehold.Error{Reason: leasehold.ReasonUnavailable, Cause: err}
	}
	defer unlock()
	ctx, cancel := a.limited(ctx)
	defer cancel()
	v, free := a.known.get(a.r.Resource, leasehold.ID{})
	if !free || a.repeats {
		var f *failure
		if v, f = a.service.load(ctx, a.r.Resource, leasehold.ID{}); f == nil && v.justWritten() {
			v, f = a.reload(ctx, 0)
		}
		if f != nil {
			return leasehold.Grant{}, f
		}
	}
	for try := 0; ; try++ {
		g, err, again := a.attempt(ctx, v)
		if !again {
			return g, err
		}
		a.known.drop(a.r.Resource)
		if !paused(ctx, err, try) {
			return g, a.undecided(err)
		}
		var f *failure
		if v, f = a.reload(ctx, try); f != nil {
			return leasehold.Grant{}, a.undecided(f)
		}
	}
}

// attempt tries with the blob as it was read. Again: it was not as it was read, or
// an answer was lost.
func (a *acquisition) attempt(ctx context.Context, v view) (g leasehold.Grant, err error, again bool) {
	switch {
	case v.locked() && a.inDoubt && v.mark == a.mark: // the answer was lost, but we have it
		return a.confirmed(ctx)
	case a.inDoubt && (v.mark != a.mark || v.state != lease.StateTypeAvailable): // we may have had it
		return g, &failure{kind: lost, cause: errLeasedAgain}, false
	case v.locked():
		return a.conflict(ctx, v)
	case a.repeats: // it is free, for the first who waits
		return g, refusal(leasehold.ReasonHeld), false
	}
	if v.ended && v.state != lease.StateTypeAvailable {
		if f := a.service.finishRelease(ctx, &v); f != nil {
			return g, nothingDone(f), f.kind == raced
		}
	}
	next, now := v, a.service.clock.now()
	next.record = record{
		resource: a.r.Resource, holder: a.r.Holder, token: nextToken(v.token, now), ttl: a.r.TTL,
		acquired: now.Truncate(time.Millisecond), metadata: clone(a.r.Metadata), mark: newMark(),
	}
	if next.token > leasehold.MaxToken {
		return g, &failure{kind: failed, cause: errors.New("the blob's tokens are used up")}, false
	}
	var f *failure
	next.etag, next.modified, f = a.service.store(ctx, &next.record, leasehold.ID{}, v.etag)
	if f != nil {
		f = deleted(nothingDone(f))
		return g, f, f.kind == raced || f.kind == leased || f.kind == unsent
	}
	// A lease call that is still under way now fails: the blob is not as it was.
	a.written, a.mark, a.sent, a.inDoubt = next, next.mark, time.Now(), false
	next.now, f = a.service.acquireLease(ctx, a.r.Resource, a.id, a.r.TTL, next.etag)
	switch {
	case f == nil:
		next.state, next.infinite = lease.StateTypeLeased, a.r.TTL == leasehold.Infinite
		return a.granted(next), nil, false
	case f.kind == lost:
		a.inDoubt = true
		return g, f, true
	}
	f = deleted(f)
	return g, f, f.kind == raced || f.kind == leased || f.kind == breaking
}

// deleted makes a race of a blob that was there a moment ago.
func deleted(f *failure) *failure {
	if f.kind == noBlob {
		f.kind = raced
	}
	return f
}

// confirmed answers an acquire whose answer was lost, by the lease's id: another
// tool may have leased the blob that we wrote.
func (a *acquisition) confirmed(ctx context.Context) (g leasehold.Grant, err error, again bool) {
	v, f := a.service.load(ctx, a.r.Resource, a.id)
	switch {
	case f != nil && f.kind == notLeased:
		return g, &failure{kind: lost, cause: errLeasedAgain}, false
	case f != nil:
		return g, a.undecided(f), false
	}
	return a.granted(v), nil, false
}

// nextToken is the service's time in microseconds, or the last token and one if
// that is more. So it also grows where the counter was lost: with a blob that
// somebody deleted, or by a failover to another region.
func nextToken(last uint64, now time.Time) uint64 {
	if micros := now.UnixMicro(); micros > int64(last) && micros <= leasehold.MaxToken {
		return uint64(micros)
	}
	return last + 1
}

// justWritten reports whether somebody is probably between the two calls of an
// acquire.
func (v *view) justWritten() bool {
	return v.exists && !v.ended && v.state == lease.StateTypeAvailable && v.now.Sub(v.modified) < 2*grain
}

// reload reads the blob again after a lost race. A blob that another has just
// written is left alone for a moment: its lease call is on the way, and to write
// again would make that fail, and so on for ever.
func (a *acquisition) reload(ctx context.Context, try int) (view, *failure) {
	for ; ; try++ {
		v, f := a.service.load(ctx, a.r.Resource, leasehold.ID{})
		if f != nil || v.locked() || v.mark == a.mark || v.etag == a.seen {
			return v, f
		}
		a.seen = v.etag
		if !sleepWithin(ctx, time.Duration(try+1)*20*time.Millisecond+rand.N(30*time.Millisecond)) {
			return v, &failure{kind: unsent, cause: errors.New("others were faster again and again")}
		}
	}
}

// undecided is the error of an acquire that ended without knowing the blob.
func (a *acquisition) undecided(err error) error {
	var f *failure
	if a.inDoubt && errors.As(err, &f) {
		f.kind = lost
	}
	return err
}

// abandon ends a lease that nobody received. The call that acquires it may still be
// on its way, so where there is none yet the blob is changed, and that call fails.
func (a *acquisition) abandon(ctx context.Context) {
	defer a.queues.Wake(a.r.Resource)
	for try := 0; ; try++ {
		if _, f := a.service.releaseLease(ctx, a.r.Resource, a.id, ""); f == nil {
			return
		}
		ended := a.written.record
		ended.ended, ended.mark, ended.metadata = true, newMark(), nil
		_, _, f := a.service.store(ctx, &ended, leasehold.ID{}, a.written.etag)
		if f == nil || f.kind == raced || !sleepWithin(ctx, backoff(min(try, maxTries))) {
			return // or it ends by itself
		}
	}
}

func (a *acquisition) granted(v view) leasehold.Grant {
	a.known.put(v, a.id)
	g := leasehold.Grant{Lease: v.lease()}
	g.ID = a.id
	if g.Remaining != leasehold.Infinite {
		g.Remaining = max(g.TTL-time.Since(a.sent), time.Millisecond)
	}
	return g
}

// conflict answers an acquire of a resource that is held: by this very lease, or
// by another. Again: it is no longer held.
func (a *acquisition) conflict(ctx context.Context, v view) (g leasehold.Grant, err error, again bool) {
	if a.r.ID.IsZero() || v.holder != a.r.Holder || v.state != lease.StateTypeLeased {
		return g, a.heldBy(ctx, v), false
	}
	own, f := a.service.load(ctx, a.r.Resource, a.r.ID)
	if f != nil && f.kind == notLeased {
		now, f := a.service.load(ctx, a.r.Resource, leasehold.ID{})
		switch {
		case f != nil:
			return g, f, false
		case now.locked() && now.token == v.token: // by another lease of the same holder
			return g, a.heldBy(ctx, now), false
		}
		return g, &failure{kind: raced}, true
	}
	if f != nil {
		return g, f, false
	}
	l, err := a.extend(ctx, own, a.r.ID, a.r.TTL)
	if reason := leasehold.ReasonOf(storeError("", "", err)); reason == leasehold.ReasonNotFound || reason == leasehold.ReasonExpired {
		return g, err, true // it ended as it was to be renewed
	}
	return leasehold.Grant{Lease: l, Idempotent: true}, err, false
}

// leastRetry keeps waiters from looking all the time while a lease whose end is
// not exactly known ends.
const leastRetry = 200 * time.Millisecond

func (s *Store) heldBy(ctx context.Context, v view) error {
	l := s.shownLease(ctx, &v)
	e := refusal(leasehold.ReasonHeld)
	if l.State == leasehold.StateBreaking {
		e.Reason, e.Remaining = leasehold.ReasonBreaking, l.Remaining
	}
	e.Current = &l
	if l.Remaining != leasehold.Infinite {
		e.RetryAfter = max(l.Remaining, leastRetry)
	}
	return e
}

func clone(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	c := make(map[string]string, len(m))
	for k, v := range m {
		c[k] = v
	}
	return c
}
