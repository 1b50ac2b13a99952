package wire

import (
	"time"

	"github.com/leasehold/leasehold"
)

// Waits is the answer to GET /v1/waits.
type Waits struct {
	Waits []Waiter `json:"waits"`
	Total int      `json:"total" doc:"How many wait in all: more than are listed if the list is cut."`
}

// Waiter is one who waits, and for whom.
type Waiter struct {
	Holder     string    `json:"holder"`
	Priority   int       `json:"priority"`
	Since      time.Time `json:"since" doc:"The start of the wait, which may have taken several requests."`
	Position   int       `json:"position" doc:"1 is next among those who wait for a part of the same; 0: too many stand before it to be counted."`
	Resource   string    `json:"resource" doc:"Empty if it waits for several."`
	Claims     []Claim   `json:"claims,omitempty" doc:"What it waits for, if that is not one resource by its name."`
	Sequence   bool      `json:"sequence" doc:"The holder does nothing else while it waits."`
	Reserving  bool      `json:"reserving" doc:"It keeps what it waits for free from those behind it."`
	Behind     []Blocker `json:"behind" doc:"Live leases in its way, and waiters before it that reserve what it waits for."`
	BehindMore bool      `json:"behind_more,omitempty" doc:"There are more than these."`
}

// Blocker is a lease or a waiter in the way of a waiter.
type Blocker struct {
	Holder   string `json:"holder"`
	Resource string `json:"resource,omitempty" doc:"The lease's. Left out: it is a waiter."`
	Token    uint64 `json:"token,omitempty" doc:"The lease's."`
	Claim    Claim  `json:"claim" doc:"What they meet in, as the waiter that is blocked requested it."`
}

// FromWaitList converts a list.
func FromWaitList(l leasehold.WaitList) Waits {
	return Waits{Waits: convert(l.Waits, fromWait), Total: l.Total}
}

func fromWait(w leasehold.Wait) Waiter {
	return Waiter{
		Holder: w.Holder, Priority: w.Priority, Since: w.Since.UTC(), Position: w.Position,
		Resource: w.Resource, Claims: fromClaims(w.Claims), Sequence: w.Sequence, Reserving: w.Reserving,
		Behind: convert(w.Behind, fromBlocker), BehindMore: w.BehindMore,
	}
}

func fromBlocker(b leasehold.Blocker) Blocker {
	return Blocker{Holder: b.Holder, Resource: b.Resource, Token: b.Token, Claim: fromClaim(b.Claim)}
}

// Page is the inverse of FromWaitList.
func (w Waits) Page() (leasehold.WaitList, error) {
	waits, err := convertBack(w.Waits, Waiter.wait)
	return leasehold.WaitList{Waits: waits, Total: w.Total}, err
}

func (w Waiter) wait() (leasehold.Wait, error) {
	l := leasehold.Wait{
		Place:    leasehold.Place{Holder: w.Holder, Priority: w.Priority, Since: w.Since, Position: w.Position},
		Resource: w.Resource, Sequence: w.Sequence, Reserving: w.Reserving, BehindMore: w.BehindMore,
	}
	var err error
	if l.Claims, err = toClaims(w.Claims); err != nil {
		return l, err
	}
	l.Behind, err = convertBack(w.Behind, Blocker.blocker)
	return l, err
}

func (w Blocker) blocker() (leasehold.Blocker, error) {
	claim, err := w.Claim.claim()
	return leasehold.Blocker{Holder: w.Holder, Resource: w.Resource, Token: w.Token, Claim: claim}, err
}
