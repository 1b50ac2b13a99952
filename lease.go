package leasehold

import (
	"fmt"
	"time"
)

// Infinite is the TTL of a lease that ends only by release, break or
// force-release.
const Infinite time.Duration = -1

// Unlimited is the MaxRenewals of a lease that may be renewed for ever.
const Unlimited = -1

// MaxToken is the largest fencing token: tokens stay below 2^53 so that they
// survive languages whose only number is a float.
const MaxToken = 1<<53 - 1

// State is where a resource's row stands:
//
//	available → active → released | expired | breaking → broken
//
// Waiting and failing are states of a request, never of a row.
type State uint8

// The states of a row.
const (
	StateAvailable State = iota // never leased, or its last lease is forgotten
	StateActive                 // held; Azure's word for it is "leased"
	StateBreaking               // held until the break period ends; cannot be renewed
	StateReleased               // ended by its holder or by force
	StateExpired                // its ttl ran out
	StateBroken                 // ended by a break, without the id
)

var stateNames = [...]string{"available", "active", "breaking", "released", "expired", "broken"}

// String returns the state's name in lower case, as it stands on the wire.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}

// ParseState is the inverse of String.
func ParseState(name string) (State, error) {
	for s, n := range stateNames {
		if n == name {
			return State(s), nil
		}
	}
	return StateAvailable, Invalid("status", "%.64q is no state; want available, active, breaking, released, expired or broken", name)
}

// MarshalText writes the state's name.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Locked reports whether a resource in this state cannot be acquired.
func (s State) Locked() bool { return s == StateActive || s == StateBreaking }

// Lease is what a store says about one lease at one moment.
type Lease struct {
	// ID is the secret handle. It is set only in answers to the caller that
	// owns the lease; lists, status pages and errors carry the zero ID.
	ID ID `json:"-"`

	Resource string
	Holder   string

	// Token is the fencing token: it grows with every grant of the resource, so
	// a guard of the resource can refuse every holder but the newest. Package
	// fence does.
	Token uint64

	State State

	// TTL is the length given at the last grant or renewal, or Infinite.
	TTL time.Duration

	// Remaining is how long the lease still had by the store's clock when
	// the store answered: zero once it has ended, Infinite if it has no end.
	Remaining time.Duration

	// AcquiredAt, RenewedAt and ExpiresAt are wall-clock times for people.
	// No decision may depend on them: clocks step and differ. ExpiresAt is zero
	// for an infinite lease.
	AcquiredAt, RenewedAt, ExpiresAt time.Time

	// Renewals counts the renewals so far; at MaxRenewals, unless that is
	// Unlimited, the next one is refused.
	Renewals    int
	MaxRenewals int

	// Metadata is fixed for the life of the lease; the answer that ends it is
	// the last to carry it. It is shared with the store: read it, do not change
	// it.
	Metadata map[string]string

	// Claims are what the lease covers if it was acquired by Claims, in their order.
	// Nil: Resource, exclusively. Shared with the store, like Metadata.
	Claims []Claim

	// Notes are what the holders before left for this one. Like the ID they are set
	// only in answers to the owner.
	Notes []Note
}

// Grant is the answer to a successful acquire.
type Grant struct {
	Lease

	// Idempotent is true when the proposed id was the lease already held: the
	// token is the old one and the ttl was restarted.
	Idempotent bool

	// Waited is the time from the receipt of the request to the grant, or
	// WaitUnknown from a waiting store that does not know. Zero means the grant
	// was immediate.
	Waited time.Duration
}

// WaitUnknown in Grant.Waited says that the store does not know how long the
// request waited. The Manager then renews once before it returns the lease.
const WaitUnknown time.Duration = -1
