// Package wire is the JSON between the server and its clients: the type of every
// body, their encoding and decoding, and the one table of problem codes, errors
// and HTTP statuses. Server and client use the same types, so that a store behind
// a server answers like the store itself.
//
// lease.go, claim.go, request.go, answer.go and batch.go have the types; From… functions
// convert values of package leasehold, and methods convert them back. problem.go
// has the errors, encode.go and decode.go the fast ways around encoding/json.
//
// What a conversion there and back changes: times come back in UTC, how long
// something waited is cut to milliseconds, an empty map in an answer comes back as
// none, notes come back only where the id does, and the cause of an error comes back as its text.
package wire

import (
	"math"
	"time"

	"github.com/leasehold/leasehold"
)

// Lease is a lease in an answer.
type Lease struct {
	LeaseID     string            `json:"lease_id,omitempty" doc:"The secret handle. Only in answers to the caller that owns the lease."`
	Resource    string            `json:"resource"`
	Holder      string            `json:"holder"`
	Token       uint64            `json:"token" doc:"The fencing token: it grows with every grant of the resource."`
	Status      string            `json:"status" enum:"available,active,breaking,released,expired,broken"`
	TTL         float64           `json:"ttl_seconds" doc:"-1 means no end."`
	Remaining   float64           `json:"remaining_seconds" doc:"By the store's clock when it answered; -1 means no end."`
	AcquiredAt  time.Time         `json:"acquired_at"`
	RenewedAt   time.Time         `json:"renewed_at"`
	ExpiresAt   *time.Time        `json:"expires_at" doc:"For people; null when there is no end."`
	Renewals    int               `json:"renewals"`
	MaxRenewals int               `json:"max_renewals" doc:"-1 means no limit."`
	Metadata    map[string]string `json:"metadata"`
	Claims      []Claim           `json:"claims,omitempty" doc:"What the lease covers, if it is not one resource by its name."`
	Notes       []Note            `json:"notes,omitempty" doc:"What the holders before left for this one. Only in answers to the caller that owns the lease."`
}

// FromLease converts a lease. It reveals the id, and the notes, if there is an id: a
// store sets it only in answers to the owner.
func FromLease(l leasehold.Lease) Lease {
	w := Lease{
		Resource: l.Resource, Holder: l.Holder, Token: l.Token, Status: l.State.String(),
		TTL: seconds(l.TTL), Remaining: seconds(l.Remaining),
		AcquiredAt: l.AcquiredAt.UTC(), RenewedAt: l.RenewedAt.UTC(),
		Renewals: l.Renewals, MaxRenewals: l.MaxRenewals, Metadata: l.Metadata,
		Claims: fromClaims(l.Claims),
	}
	if !l.ID.IsZero() {
		w.LeaseID, w.Notes = l.ID.Reveal(), fromNotes(l.Notes)
	}
	if !l.ExpiresAt.IsZero() {
		at := l.ExpiresAt.UTC()
		w.ExpiresAt = &at
	}
	if w.Metadata == nil {
		w.Metadata = map[string]string{}
	}
	return w
}

// Lease is the inverse of FromLease.
func (w Lease) Lease() (leasehold.Lease, error) {
	l := leasehold.Lease{
		Resource: w.Resource, Holder: w.Holder, Token: w.Token,
		TTL: duration(w.TTL), Remaining: duration(w.Remaining),
		AcquiredAt: w.AcquiredAt, RenewedAt: w.RenewedAt,
		Renewals: w.Renewals, MaxRenewals: w.MaxRenewals,
	}
	if len(w.Metadata) > 0 {
		l.Metadata = w.Metadata
	}
	if w.ExpiresAt != nil {
		l.ExpiresAt = *w.ExpiresAt
	}
	var err error
	if l.State, err = leasehold.ParseState(w.Status); err != nil {
		return l, err
	}
	if l.Claims, err = toClaims(w.Claims); err != nil {
		return l, err
	}
	for _, n := range w.Notes {
		l.Notes = append(l.Notes, leasehold.Note(n))
	}
	l.ID, err = parseID("lease_id", w.LeaseID)
	return l, err
}

// Owned is a lease in an answer to its owner, which has its id.
type Owned struct {
	Lease `required:"lease_id"`
}

// Grant is the answer to an acquire.
type Grant struct {
	Lease      `required:"lease_id"`
	Idempotent bool   `json:"idempotent,omitempty" doc:"The lease was held already; its ttl was restarted."`
	WaitedMS   *int64 `json:"waited_ms,omitempty" doc:"From receipt to grant, of a blocking acquire."`
}

// FromGrant converts a grant.
func FromGrant(g leasehold.Grant, blocking bool) Grant {
	w := Grant{Lease: FromLease(g.Lease), Idempotent: g.Idempotent}
	if blocking && g.Waited != leasehold.WaitUnknown {
		ms := g.Waited.Milliseconds() // cut, never rounded up: the client counts its deadline from it
		w.WaitedMS = &ms
	}
	return w
}

// Grant is the inverse of FromGrant. Of a blocking answer without a time, Waited
// is WaitUnknown.
func (w Grant) Grant(blocking bool) (leasehold.Grant, error) {
	l, err := w.Lease.Lease()
	g := leasehold.Grant{Lease: l, Idempotent: w.Idempotent}
	switch {
	case w.WaitedMS != nil:
		g.Waited = milliseconds(*w.WaitedMS)
	case blocking:
		g.Waited = leasehold.WaitUnknown
	}
	return g, err
}

// seconds writes a duration as seconds; -1 ns, which means "no end", is -1.
func seconds(d time.Duration) float64 {
	if d == leasehold.Infinite {
		return -1
	}
	return d.Seconds()
}

// exact is how many seconds, 48 days, a float64 holds to the nanosecond.
const exact = 1 << 22

// duration is the inverse of seconds: to the nanosecond below 48 days, to the
// microsecond up to a hundred years. A number that no duration can hold becomes
// the nearest that one can: it must not wrap around.
func duration(s float64) time.Duration {
	switch ns := math.Round(s * 1e9); {
	case s == -1:
		return leasehold.Infinite
	case ns >= math.MaxInt64:
		return math.MaxInt64
	case ns <= 0 || math.IsNaN(ns):
		return 0
	case s >= exact:
		return time.Duration(math.Round(s*1e6)) * time.Microsecond
	default:
		return time.Duration(ns)
	}
}

// milliseconds is how long something took, which is never less than nothing.
func milliseconds(ms int64) time.Duration {
	const most = math.MaxInt64 / int64(time.Millisecond)
	return time.Duration(min(max(ms, 0), most)) * time.Millisecond
}
