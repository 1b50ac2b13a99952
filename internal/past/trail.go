package past

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// trail is what the records at or before the moment say of one name. They are added
// newest first.
type trail struct {
	newest  *leasehold.Record // nil: there is none
	token   uint64            // of the lease, as the records go back
	lease   Lease
	endSeen bool // the end of the lease is known, or known to be never
	endLost bool // a newer record set it and does not say to what
	whole   bool // nothing older says more of the lease
}

// add adds the next older record of the name.
func (t *trail) add(r leasehold.Record) {
	if r.Kind == leasehold.KindFailed || t.whole { // a wait that failed is no lease
		return
	}
	if t.newest == nil {
		t.newest, t.token = &r, r.Token
		t.lease = Lease{Resource: r.Resource, Holder: r.Holder, Token: r.Token, State: r.After, Renewals: r.Renewals, Known: Certain}
		if !r.After.Locked() {
			t.lease.EndedAt, t.lease.Ended, t.lease.Reason = endTime(r), r.Kind, r.Why
		}
	}
	if t.token == anyToken {
		t.token = r.Token
	}
	if r.Token != t.token {
		t.whole = true
		return
	}
	t.addEnd(r)
	switch r.Kind {
	case leasehold.KindRenewed:
		if t.lease.RenewedAt.IsZero() && t.lease.AcquiredAt.IsZero() {
			t.lease.RenewedAt = r.At
		}
	case leasehold.KindTransferred:
		if t.lease.AcquiredAt.IsZero() {
			t.lease.AcquiredAt = r.At
		}
		t.token, t.whole = anyToken, !isSet(r.Resource) // what a set covers stands in the record of its grant
	case leasehold.KindAcquired:
		t.addGrant(r)
	}
}

// anyToken is that of the lease before a transfer of a set, whose name is its own.
const anyToken = ^uint64(0)

func isSet(name string) bool { return strings.HasPrefix(name, leasehold.SetPrefix) }

// addGrant adds the record of a grant. An upgrade of a set is one, too, and counts as a
// renewal: the lease began earlier.
func (t *trail) addGrant(r leasehold.Record) {
	if text := r.Details["claims"]; text != "" && t.lease.Claims == nil {
		_ = json.Unmarshal([]byte(text), &t.lease.Claims) // what cannot be read stays unknown
	}
	if before, err := strconv.ParseUint(r.Details["replaces_token"], 10, 64); err == nil {
		if t.lease.RenewedAt.IsZero() && t.lease.AcquiredAt.IsZero() {
			t.lease.RenewedAt = r.At
		}
		t.token = before
		return
	}
	if t.lease.AcquiredAt.IsZero() {
		t.lease.AcquiredAt = r.At
	}
	t.whole = true
}

// addEnd reads the end that was planned.
func (t *trail) addEnd(r leasehold.Record) {
	if t.endSeen || t.endLost || !r.After.Locked() {
		return
	}
	ms, err := strconv.ParseInt(r.Details[machine.DetailEndsIn], 10, 64)
	if err != nil { // an older program wrote it, or a store that does not say
		t.endLost = r.Kind != leasehold.KindChanged && r.Kind != leasehold.KindTransferred
		return
	}
	t.endSeen = true
	if t.lease.Endless = ms == -1; !t.lease.Endless {
		t.lease.ExpiresAt = r.At.Add(time.Duration(ms) * time.Millisecond)
	}
}

// endTime is when the lease of the record ended: at its end, however late that was
// recorded.
func endTime(r leasehold.Record) time.Time {
	ms, err := strconv.ParseInt(r.Details[machine.DetailEndedAgo], 10, 64)
	if err != nil {
		return r.At
	}
	return r.At.Add(-time.Duration(ms) * time.Millisecond)
}

// overdue says whether the lease should have ended by the moment, or may have.
func (t *trail) overdue(at time.Time) bool {
	return !t.endSeen || !t.lease.Endless && !t.lease.ExpiresAt.After(at)
}

// needsNext says whether only the record after the moment can decide.
func (t *trail) needsNext(g gaps, at time.Time) bool {
	if t.newest == nil {
		return true
	}
	if !t.lease.Live() {
		return g.missing(t.newest.At, at)
	}
	return t.overdue(at) || g.missingRenewals(t.newest.At, at)
}

// decide completes the lease with the next record, or nil, if there is none or it is not
// known.
func (t *trail) decide(g gaps, at time.Time, next *leasehold.Record) Lease {
	l, since := t.lease, t.newest.At
	missing := g.missing(since, at)
	switch {
	case !l.Live() && missing:
		return l.unknown(fmt.Sprintf("no records were kept for a time after %s", stamp(since)))
	case !l.Live():
		return l
	case continues(t.newest, next):
		return l.until(at, next, missing).withoutEnd(g.missingRenewals(since, at))
	case missing:
		return l.unknown(fmt.Sprintf("no records were kept for a time after %s", stamp(since)))
	case !t.endSeen && next == nil:
		return l.unknown("its records do not say when it was to end")
	case !t.endSeen:
		return l.unknown(fmt.Sprintf("it ended before %s, and no record says when", stamp(next.At)))
	case !t.overdue(at) && !g.missingEnds(since, at):
		return l.withoutEnd(g.missingRenewals(since, at))
	case g.missingRenewals(since, at):
		return l.unknown("renewals were not recorded: it may have been renewed")
	}
	return l.expired()
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

func (l Lease) unknown(why string) Lease {
	l.Known, l.Why = Uncertain, why
	return l
}

// withoutEnd is the lease without its planned end, if a renewal may have moved that.
func (l Lease) withoutEnd(moved bool) Lease {
	if moved && l.Live() {
		l.ExpiresAt, l.Endless = time.Time{}, false
	}
	return l
}

// until is the lease at the moment if the next record found it live: it was held until
// then, or ended as that record says. Missing says that records before the moment may be
// missing: then one that was found breaking may have been so at the moment, or not yet.
func (l Lease) until(at time.Time, next *leasehold.Record, missing bool) Lease {
	ends := next.Kind == leasehold.KindExpired || next.Kind == leasehold.KindBroken
	if end := endTime(*next); ends && !end.After(at) {
		l.State, l.EndedAt, l.Ended, l.Reason = next.After, end, next.Kind, next.Why
		return l
	}
	if l.State != next.Before && missing {
		l.State = next.Before
		return l.unknown("it was held, and no record says since when it was " + next.Before.String())
	}
	return l
}

// expired is the lease after an end that is not recorded yet.
func (l Lease) expired() Lease {
	l.EndedAt, l.Ended = l.ExpiresAt, leasehold.KindExpired
	if l.State == leasehold.StateBreaking {
		l.Ended = leasehold.KindBroken
	}
	l.State = leasehold.StateExpired
	if l.Ended == leasehold.KindBroken {
		l.State = leasehold.StateBroken
	}
	return l
}

// continues says whether the next record is of the same lease and found it live.
func continues(newest, next *leasehold.Record) bool {
	if next == nil || !next.Before.Locked() {
		return false
	}
	holder, token := before(*next)
	return token == newest.Token || token == 0 && holder == newest.Holder
}

// renewalsBefore is how many renewals the lease had that a record found.
func renewalsBefore(r leasehold.Record) int {
	if r.Kind == leasehold.KindRenewed || r.Kind == leasehold.KindAcquired {
		return max(0, r.Renewals-1)
	}
	return r.Renewals
}

// before is whose lease a record found: of a transfer or an upgrade another than it
// names. Token zero: the record does not say.
func before(r leasehold.Record) (holder string, token uint64) {
	switch r.Kind {
	case leasehold.KindTransferred:
		return r.Details["from"], 0
	case leasehold.KindAcquired:
		token, _ = strconv.ParseUint(r.Details["replaces_token"], 10, 64)
		return r.Holder, token
	}
	return r.Holder, r.Token
}
