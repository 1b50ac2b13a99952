package storetest

import (
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/past"
)

// pastChecks are that the records of a store suffice to say who held what at a moment.
var pastChecks = []check{
	{name: "OfOneResource", run: pastOfOne, needs: []Capability{History}},
	{name: "OfAll", run: pastOfAll, needs: []Capability{History}},
	{name: "OfExpired", run: pastOfExpired, needs: []Capability{History, ExpiryRecords}},
	{name: "OfTransferred", run: pastOfTransferred, needs: []Capability{History, Transfer}},
	{name: "OfSets", run: pastOfSets, needs: []Capability{History, Sets}},
}

// moment is one between what happens before and after the call, by the clock of the
// records: that of a remote store differs a little, so it is between two records.
func (e *env) moment() time.Time {
	e.Helper()
	e.pass(20 * time.Millisecond)
	g := e.acquire("mark", "clock")
	e.release(g.Lease)
	defer e.pass(20 * time.Millisecond)
	return e.soonAfter("mark")
}

// soonAfter is a moment after the newest record of a resource.
func (e *env) soonAfter(resource string) time.Time {
	e.Helper()
	page, err := power[leasehold.Historian](e).History(e.Context(), leasehold.HistoryRequest{Resource: resource, Limit: 1})
	if err != nil || len(page.Records) != 1 {
		e.Fatalf("History of %q = %d records, %v", resource, len(page.Records), err)
	}
	return page.Records[0].At.Add(5 * time.Millisecond)
}

// heldAt expects one lease to have covered the resource at the moment.
func (e *env) heldAt(resource string, at time.Time, want leasehold.Lease) past.Lease {
	e.Helper()
	a := e.past(resource, at)
	if a.Known != past.Certain || len(a.Leases) != 1 || a.Leases[0].Token != want.Token || a.Leases[0].Holder != want.Holder || !a.Leases[0].Live() {
		e.Fatalf("Resource(%q, %v) = %+v, want it held by %q with token %d", resource, at, a, want.Holder, want.Token)
	}
	return a.Leases[0]
}

// freeAt expects the resource to have been free.
func (e *env) freeAt(resource string, at time.Time) past.Answer {
	e.Helper()
	a := e.past(resource, at)
	if a.Known != past.Certain || a.Locked() {
		e.Errorf("Resource(%q, %v) = %+v, want it free", resource, at, a)
	}
	return a
}

func (e *env) past(resource string, at time.Time) past.Answer {
	e.Helper()
	a, err := past.Resource(e.Context(), power[leasehold.Historian](e), resource, at, nil)
	if err != nil {
		e.Fatalf("Resource(%q, %v) = %v", resource, at, err)
	}
	return a
}

func pastOfOne(e *env) {
	before := e.moment()
	g := e.acquire("r", "a")
	held := e.moment()
	e.renew(g.Lease)
	renewed := e.moment()
	e.release(g.Lease)
	free := e.moment()
	h := e.acquire("r", "b")
	again := e.moment()
	e.release(h.Lease)

	e.freeAt("r", before)
	if l := e.heldAt("r", held, g.Lease); l.Renewals != 0 || l.AcquiredAt.IsZero() || l.AcquiredAt.After(held) {
		e.Errorf("it had %d renewals and was acquired at %v, want none and before %v", l.Renewals, l.AcquiredAt, held)
	}
	if l := e.heldAt("r", renewed, g.Lease); l.Renewals != 1 || l.RenewedAt.IsZero() {
		e.Errorf("it had %d renewals, the last at %v, want 1", l.Renewals, l.RenewedAt)
	}
	if a := e.freeAt("r", free); a.Last == nil || a.Last.Token != g.Token || a.Last.Ended != leasehold.KindReleased {
		e.Errorf("the last lease was %+v, want that of token %d, released", a.Last, g.Token)
	}
	e.heldAt("r", again, h.Lease)
}

func pastOfAll(e *env) {
	a, b := e.acquire("x:a", "h"), e.acquire("x:b", "i")
	both := e.moment()
	e.release(a.Lease)
	one := e.moment()
	for _, c := range []struct {
		what string
		q    past.TableRequest
		want []uint64
	}{
		{"both", past.TableRequest{Time: both, Prefix: "x:"}, []uint64{a.Token, b.Token}},
		{"one", past.TableRequest{Time: one, Prefix: "x:"}, []uint64{b.Token}},
		{"of a holder", past.TableRequest{Time: both, Holder: "h"}, []uint64{a.Token}},
		{"elsewhere", past.TableRequest{Time: both, Prefix: "y:"}, nil},
	} {
		var got []uint64
		for more := true; more; more = c.q.Cursor != "" {
			c.q.Limit = 1
			p, err := past.Table(e.Context(), power[leasehold.Historian](e), c.q, nil)
			if err != nil {
				e.Fatalf("Table of %s = %v", c.what, err)
			}
			for _, l := range p.Leases {
				got = append(got, l.Token)
			}
			c.q.Cursor = p.Cursor
		}
		if len(got) != len(c.want) || len(got) > 0 && got[0] != c.want[0] {
			e.Errorf("Table of %s has the tokens %v, want %v", c.what, got, c.want)
		}
	}
}

func pastOfExpired(e *env) {
	g := e.grant(e.brief("r", "a"))
	held := e.soonAfter("r") // however long the calls take
	e.outlive(e.short)
	expired := e.moment()
	if e.h.can(Cleanup) {
		e.cleanup()
	}
	e.heldAt("r", held, g.Lease)
	if a := e.freeAt("r", expired); a.Last == nil || a.Last.Ended != leasehold.KindExpired || a.Last.EndedAt.After(expired) {
		e.Errorf("the last lease was %+v, want it expired before %v", a.Last, expired)
	}
}

func pastOfTransferred(e *env) {
	g := e.acquire("r", "old")
	first := e.moment()
	next := e.transfer(g.Lease, "new", leasehold.ID{})
	second := e.moment()
	e.heldAt("r", first, g.Lease)
	e.heldAt("r", second, next)
}

func pastOfSets(e *env) {
	g := e.grant(e.names("a", "x", "y"))
	held := e.moment()
	e.release(g.Lease)
	free := e.moment()
	for _, name := range []string{"x", "y", g.Resource} {
		if l := e.heldAt(name, held, g.Lease); len(l.Claims) != 2 {
			e.Errorf("the lease of several covered %v", l.Claims)
		}
		e.freeAt(name, free)
	}
	e.freeAt("z", held)
}
