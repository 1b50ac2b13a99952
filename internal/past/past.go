// Package past says who held what at a moment of the retained history.
//
// It reads records of a leasehold.Historian and knows no store. The newest record of a
// resource at or before the moment says what its lease was; where that leaves a doubt
// (the lease should have ended by then, or records are missing) the next one after the
// moment decides, because it says in which state it found the lease. What the records
// cannot say is answered as unknown, or as not retained, and never guessed.
//
// The limits of truth: a moment is wall time, as records have it, in whole milliseconds.
// Where the wall clock was set back it happened twice, and the answer is about one of
// the two. Metadata are in no record. Of waiters only those show whose wait has ended,
// with a record that says how long it lasted.
package past

import (
	"time"

	"github.com/leasehold/leasehold"
)

// Known says how sure an answer is.
type Known string

// The degrees.
const (
	Certain     Known = "known"
	Uncertain   Known = "unknown"      // records are missing; Why says which
	NotRetained Known = "not_retained" // the moment lies before the retained history
)

// Options bound the reading. Nil is fine.
type Options struct {
	// Pages is how many pages of leasehold.MaxPage records are read at most.
	// Default 100.
	Pages int

	// Time is how long reading goes on at most. Default 8 s.
	Time time.Duration
}

// Lease is what is known of a lease as it was at the moment.
type Lease struct {
	Resource string
	Holder   string
	Token    uint64 // zero: not known
	State    leasehold.State
	Claims   []leasehold.Claim // of a set

	AcquiredAt time.Time // zero: the record is not retained
	RenewedAt  time.Time // by the newest record of a renewal; zero: there is none
	Renewals   int       // at least so many, where renewals were not recorded
	ExpiresAt  time.Time // as it was planned at the moment; zero: never, or not known
	Endless    bool

	// Of a lease that had ended: when, by which event, and why.
	EndedAt time.Time
	Ended   leasehold.Kind
	Reason  string

	Known Known
	Why   string
}

// Live reports whether the lease was held at the moment, as far as that is known.
func (l Lease) Live() bool { return l.State.Locked() }

// Waiter is a wait that went on at the moment, and ended later.
type Waiter struct {
	Holder  string
	Since   time.Time
	Until   time.Time
	Granted bool   // else it ended without a grant
	Reason  string // such as timeout
}

// Answer is what is known of one resource at a moment.
type Answer struct {
	Resource string
	Time     time.Time
	Known    Known
	Why      string // if it is not Certain

	// Leases are those that covered it, by token: one, unless it was shared. Of an
	// uncertain answer they are those that may have.
	Leases []Lease

	// Last is the lease before, if none covered it and its records are retained.
	Last *Lease

	// Waiters are by their start.
	Waiters []Waiter

	Retained
}

// Locked reports whether it was held, as far as that is known.
func (a Answer) Locked() bool { return len(a.Leases) > 0 }

// Retained says what of the history there is.
type Retained struct {
	// Purged says that old records were dropped, and From since when the history is
	// whole; zero: not known, or since the beginning.
	Purged bool
	From   time.Time

	// Incomplete says that there were more records than may be read: leases that
	// began long before the moment may be missing. ReadTo is how far back was read.
	Incomplete bool
	ReadTo     time.Time
}
