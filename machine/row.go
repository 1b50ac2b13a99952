// Package machine is the lease state machine: the rules of every store and
// every API, written once.
//
// It is pure. Functions take the row as it stands, the request and the time,
// and answer the next row, what to write into the history, and a Reason where
// the answer is no. They do no I/O, read no clock and draw no random numbers,
// so a store can run them inside whatever atomic step it has: a lock, a
// transaction, a compare-and-swap that it may have to repeat.
//
// There are two sets of rules: Standard, of the JSON API and the Go library, and
// Azure, of the Azure Blob API. Each difference is a named field of Policy.
package machine

import (
	"math"
	"time"

	"github.com/leasehold/leasehold"
)

// Time is nanoseconds on the store's own clock, the only one that decides when
// a lease ends. Its origin is the store's choice.
type Time int64

// Never is the end of an infinite lease.
const Never Time = math.MaxInt64

// Instant is one reading of a store's clocks. Clock decides; Wall, in Unix
// milliseconds, only informs people.
type Instant struct {
	Clock Time
	Wall  int64
}

// WallTime returns Wall as a time.
func (i Instant) WallTime() time.Time { return time.UnixMilli(i.Wall).UTC() }

// after returns the moment d from now, or Never.
func (i Instant) after(d time.Duration) Time {
	if d == leasehold.Infinite {
		return Never
	}
	return i.Clock + Time(d)
}

// Row is all that is remembered about a resource: its current lease, or its
// last one until the next grant. The zero Row with a Resource is available.
type Row struct {
	Resource string
	Holder   string
	ID       leasehold.ID
	Token    uint64
	State    leasehold.State // as last stored; At gives the present one
	TTL      time.Duration
	Ends     Time // when the lease ends, or ended
	Acquired int64
	Renewed  int64 // wall clocks, in Unix milliseconds

	Renewals    int32
	MaxRenewals int32
	Metadata    map[string]string // none once the lease has ended
	Caller      string            // whose live leases it counts among; may be empty

	// Claims are what a set covers. Nil: Resource, exclusively; and of an ended set,
	// unless it left a note.
	Claims []leasehold.Claim
	// Notes are what earlier holders left for the holder; of an ended lease, what it
	// left for the next.
	Notes []leasehold.Note

	// Former is the id before the last change or transfer. A caller who lost
	// the answer repeats the call with it.
	Former leasehold.ID
	// Handed says that Former ended by a transfer and counts as released.
	Handed bool

	// Scoped says that the id is known only together with the resource, as
	// Azure has it. Otherwise ids are unique in the store.
	Scoped bool
}

// At returns the row as it stands at now: a lease past its end is Expired or
// Broken, without metadata, claims and notes, whether or not that was recorded.
func (r Row) At(now Instant) Row {
	if now.Clock < r.Ends {
		return r
	}
	switch r.State {
	case leasehold.StateActive:
		r.State, r.Metadata, r.Claims, r.Notes = leasehold.StateExpired, nil, nil, nil
	case leasehold.StateBreaking:
		r.State, r.Metadata, r.Claims, r.Notes = leasehold.StateBroken, nil, nil, nil
	}
	return r
}

// Remaining returns how long the lease still has: Infinite without an end,
// zero once it has ended.
func (r Row) Remaining(now Instant) time.Duration {
	switch {
	case now.Clock >= r.Ends, !r.State.Locked():
		return 0
	case r.Ends == Never:
		return leasehold.Infinite
	}
	return time.Duration(r.Ends - now.Clock)
}

// Lease returns the row's lease as it stands at now, without its id and its notes.
func (r Row) Lease(now Instant) leasehold.Lease {
	r = r.At(now)
	l := leasehold.Lease{
		Resource:    r.Resource,
		Holder:      r.Holder,
		Token:       r.Token,
		State:       r.State,
		TTL:         r.TTL,
		Remaining:   r.Remaining(now),
		AcquiredAt:  time.UnixMilli(r.Acquired).UTC(),
		RenewedAt:   time.UnixMilli(r.Renewed).UTC(),
		Renewals:    int(r.Renewals),
		MaxRenewals: int(r.MaxRenewals),
		Metadata:    r.Metadata,
		Claims:      r.Claims,
	}
	if r.Ends != Never {
		l.ExpiresAt = now.WallTime().Add(time.Duration(r.Ends - now.Clock))
	}
	return l
}

// Owned is Lease with the id and the notes that others left for its holder: for answers
// to the lease's owner only.
func (r Row) Owned(now Instant) leasehold.Lease {
	l := r.Lease(now)
	l.ID = r.ID
	if l.State.Locked() { // those of an ended lease are for the next holder
		l.Notes = r.Notes
	}
	return l
}
