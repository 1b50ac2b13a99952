package past

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/leasehold/leasehold"
)

// Resource answers what is known of one resource at a moment. A name that a store gave
// to a set is one, too.
func Resource(ctx context.Context, h leasehold.Historian, name string, at time.Time, opts *Options) (Answer, error) {
	a := Answer{Resource: name, Time: at, Known: Certain}
	if err := leasehold.CheckResource(name); err != nil {
		return a, err
	}
	r, err := newReader(ctx, h, at, opts)
	if err != nil {
		return a, err
	}
	a.Time = r.at
	if err := r.own(&a); err != nil {
		return a, err
	}
	if !isSet(name) {
		if err := r.sets(&a); err != nil {
			return a, err
		}
	}
	slices.SortFunc(a.Leases, func(x, y Lease) int { return cmp.Compare(x.Token, y.Token) })
	if a.Locked() {
		a.Last = nil
	}
	a.Retained = r.retained
	return a, nil
}

// own answers by the records under the name itself.
func (r *reader) own(a *Answer) error {
	t, err := r.trailOf(a.Resource)
	if err != nil {
		return err
	}
	var seq uint64
	if t.newest != nil {
		seq = t.newest.Seq
	}
	next, ended, whole, err := r.after(a.Resource, seq, true)
	if err != nil {
		return err
	}
	r.retained.Incomplete = r.retained.Incomplete || !whole && t.needsNext(r.gaps, r.at)
	a.Waiters = waiters(ended, r.at)
	if t.newest == nil {
		return r.withoutRecords(a, next)
	}
	switch l := t.decide(r.gaps, r.at, next); {
	case l.Known != Certain:
		a.Known, a.Why = l.Known, l.Why
		if a.Last = &l; l.Live() {
			a.Last, a.Leases = nil, append(a.Leases, l)
		}
	case l.Live():
		a.Leases = append(a.Leases, l)
	default:
		a.Last = &l
	}
	return nil
}

// trailOf reads the newest records of a name, as far back as they are about one lease.
func (r *reader) trailOf(name string) (*trail, error) {
	t := &trail{}
	q := r.before()
	q.Resource, q.Limit = name, 50
	_, err := r.each(q, func(record leasehold.Record) bool {
		t.add(record)
		return !t.whole
	})
	return t, err
}

// withoutRecords answers for a name that has none at or before the moment.
func (r *reader) withoutRecords(a *Answer, next *leasehold.Record) error {
	reaches, err := r.reachesBack()
	if err != nil {
		return err
	}
	switch {
	case r.retained.Purged && !reaches:
		a.Known, a.Why = NotRetained, "the retained history begins later"
	case next != nil && next.Before.Locked() && !r.gaps.missing(r.at, next.At):
		holder, token := before(*next)
		l := Lease{Resource: a.Resource, Holder: holder, Token: token, State: next.Before, Renewals: renewalsBefore(*next), Known: Certain}
		if l = l.until(r.at, next, false); l.Live() {
			a.Leases = append(a.Leases, l)
			return nil
		}
		a.Last = &l
	case r.retained.Purged: // also of a lease of several resources nothing may be left
		a.Known, a.Why = NotRetained, "it has no retained records before; older ones were purged"
	case r.gaps.missing(time.Time{}, r.at):
		a.Known, a.Why = Uncertain, "it has no records before, and for a time none were kept"
	}
	return nil
}

// sets adds the leases of several resources that had the name.
func (r *reader) sets(a *Answer) error {
	q := r.before()
	q.Prefix = leasehold.SetPrefix
	trails, err := r.scan(q)
	if err != nil {
		return err
	}
	for _, t := range trails {
		covers := slices.ContainsFunc(t.lease.Claims, func(c leasehold.Claim) bool { return c.Namespace == "" && c.Pattern == a.Resource })
		if !covers {
			continue
		}
		l, err := r.resolve(t)
		if err != nil {
			return err
		}
		if !l.Live() {
			continue
		}
		if a.Leases = append(a.Leases, l); l.Known != Certain && a.Known == Certain {
			a.Known, a.Why = l.Known, l.Why
		}
	}
	return nil
}

// resolve completes a lease, with the record after the moment if that is needed.
func (r *reader) resolve(t *trail) (Lease, error) {
	var next *leasehold.Record
	if t.needsNext(r.gaps, r.at) {
		var whole bool
		var err error
		if next, _, whole, err = r.after(t.newest.Resource, t.newest.Seq, false); err != nil {
			return Lease{}, err
		}
		r.retained.Incomplete = r.retained.Incomplete || !whole
	}
	return t.decide(r.gaps, r.at, next), nil
}

// waiters are those of the ended waits that went on at the moment, by their start.
func waiters(ended []leasehold.Record, at time.Time) (all []Waiter) {
	for _, r := range ended {
		if w, ok := waiter(r, at); ok {
			all = append(all, w)
		}
	}
	slices.SortFunc(all, func(x, y Waiter) int { return x.Since.Compare(y.Since) })
	return all
}

// waiter is the wait that a record ended, if it went on at the moment.
func waiter(r leasehold.Record, at time.Time) (Waiter, bool) {
	ms, err := strconv.ParseInt(r.Details["waited_ms"], 10, 64)
	since := r.At.Add(-time.Duration(ms) * time.Millisecond)
	return Waiter{Holder: r.Holder, Since: since, Until: r.At, Granted: r.Kind == leasehold.KindAcquired, Reason: r.Why}, err == nil && !since.After(at)
}
