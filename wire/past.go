package wire

import (
	"time"

	"github.com/leasehold/leasehold/internal/past"
)

// Past is the answer to GET /v1/history/at: of one resource, or a page of all leases
// that were live at a moment.
type Past struct {
	Resource   string       `json:"resource,omitempty" doc:"Left out in a list of all."`
	Time       time.Time    `json:"time"`
	Known      string       `json:"known" enum:"known,unknown,not_retained" doc:"unknown: records are missing, so leases that are shown may have ended and others may be missing. not_retained: the retained history begins later, or says nothing of the resource."`
	Reason     string       `json:"reason" doc:"Why it is not known."`
	Locked     bool         `json:"locked" doc:"Whether there is any lease in leases."`
	Leases     []PastLease  `json:"leases" doc:"Of one resource all that covered it, by token; in a list by resource."`
	Last       *PastLease   `json:"last" doc:"Of a resource that was not leased: the lease before."`
	Waiters    []PastWaiter `json:"waiters" doc:"Of one resource: waits that went on then and ended later, with a record that says how long they took."`
	NextCursor string       `json:"next_cursor" doc:"Of a list; empty on the last page."`
	Purged     bool         `json:"purged" doc:"Old records were dropped."`
	From       *time.Time   `json:"retained_from" doc:"Since when the history is whole, where the store says so."`
	Incomplete bool         `json:"incomplete" doc:"There were more records than one request may read: leases may be missing."`
	ReadTo     *time.Time   `json:"read_to" doc:"If so, how far back they were read."`
}

// PastLease is a lease as it was at a moment.
type PastLease struct {
	Resource   string     `json:"resource"`
	Holder     string     `json:"holder"`
	Token      uint64     `json:"token" doc:"0: not known."`
	Status     string     `json:"status" enum:"active,breaking,released,expired,broken"`
	Claims     []Claim    `json:"claims,omitempty" doc:"What the lease covered, if it was not one resource by its name."`
	AcquiredAt *time.Time `json:"acquired_at" doc:"null: its record is not retained."`
	RenewedAt  *time.Time `json:"renewed_at" doc:"By the newest record of a renewal."`
	Renewals   int        `json:"renewals" doc:"At least so many, where renewals were not recorded."`
	ExpiresAt  *time.Time `json:"expires_at" doc:"As it was planned then; null: never, or not known."`
	Endless    bool       `json:"endless" doc:"It had no end."`
	EndedAt    *time.Time `json:"ended_at" doc:"Of a lease that had ended."`
	Ended      string     `json:"ended,omitempty" doc:"The event that ended it."`
	Reason     string     `json:"reason,omitempty" doc:"Why it ended."`
	Known      string     `json:"known" enum:"known,unknown"`
	Unknown    string     `json:"unknown,omitempty" doc:"What is not known of it, and why."`
}

// PastWaiter is a wait that went on at a moment.
type PastWaiter struct {
	Holder  string    `json:"holder"`
	Since   time.Time `json:"since"`
	Until   time.Time `json:"until"`
	Granted bool      `json:"granted"`
	Reason  string    `json:"reason" doc:"Why it ended without a grant."`
}

// FromPast converts what is known of one resource.
func FromPast(a past.Answer) Past {
	w := Past{
		Resource: a.Resource, Time: a.Time, Known: string(a.Known), Reason: a.Why, Locked: a.Locked(),
		Leases:  convert(a.Leases, fromPastLease),
		Waiters: convert(a.Waiters, func(p past.Waiter) PastWaiter { return PastWaiter(p) }),
	}
	if a.Last != nil {
		w.Last = new(fromPastLease(*a.Last))
	}
	w.setRetained(a.Retained)
	return w
}

// FromPastPage converts a page of all leases.
func FromPastPage(p past.Page) Past {
	w := Past{
		Time: p.Time, Known: string(p.Known), Locked: len(p.Leases) > 0,
		Leases: convert(p.Leases, fromPastLease), Waiters: []PastWaiter{}, NextCursor: p.Cursor,
	}
	switch p.Known {
	case past.NotRetained:
		w.Reason = "the retained history begins later"
	case past.Uncertain:
		w.Reason = "no records were kept at that time"
	}
	w.setRetained(p.Retained)
	return w
}

func (w *Past) setRetained(r past.Retained) {
	w.Purged, w.From, w.Incomplete, w.ReadTo = r.Purged, optionalTime(r.From), r.Incomplete, optionalTime(r.ReadTo)
}

func fromPastLease(l past.Lease) PastLease {
	return PastLease{
		Resource: l.Resource, Holder: l.Holder, Token: l.Token, Status: l.State.String(), Claims: fromClaims(l.Claims),
		AcquiredAt: optionalTime(l.AcquiredAt), RenewedAt: optionalTime(l.RenewedAt), Renewals: l.Renewals,
		ExpiresAt: optionalTime(l.ExpiresAt), Endless: l.Endless,
		EndedAt: optionalTime(l.EndedAt), Ended: string(l.Ended), Reason: l.Reason,
		Known: string(l.Known), Unknown: l.Why,
	}
}

// optionalTime is null for no time.
func optionalTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(t.UTC())
}
