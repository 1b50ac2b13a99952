package leasehold

import "context"

// WaitLister is a store that lists who waits, and for whom.
type WaitLister interface {
	// Waits lists those who wait, the longest waiting first, at most limit of them:
	// 1 … MaxPage, zero: DefaultPage. Places that are kept for an absent client are
	// left out. Those who come and go meanwhile may or may not show.
	Waits(ctx context.Context, limit int) (WaitList, error)
}

// WaitList is who waits.
type WaitList struct {
	Waits []Wait

	// Total is how many wait in all: more than there are in Waits if the list is cut.
	Total int
}

// Wait is one waiter, and who is in its way.
type Wait struct {
	// Place is where it stands among those who wait for a part of the same. Since is
	// the start of its wait, which may have taken several requests. Position is zero
	// if too many stand before it to be counted.
	Place

	Resource string  // of a plain name
	Claims   []Claim // of a set; shared with the store: read it, do not change it

	// Sequence says that the holder does nothing else while it waits.
	Sequence bool

	// Reserving says that it keeps its claims free from those behind it.
	Reserving bool

	// Behind is what it waits for: live leases, and waiters before it that reserve
	// what it waits for. Those before it in the queue of one plain name are not
	// listed. BehindMore says that there are more than these.
	Behind     []Blocker
	BehindMore bool
}

// Blocker is what is in the way of a waiter: a lease, or another waiter.
type Blocker struct {
	Holder string

	// Resource and Token name the lease. Of a waiter they are zero.
	Resource string
	Token    uint64

	// Claim is what the two meet in, as the waiter that is blocked requested it.
	Claim Claim
}

// CheckPageLimit checks the limit of a list: 1 … MaxPage, or zero for the default.
func CheckPageLimit(limit int) error { return checkLimit(limit) }
