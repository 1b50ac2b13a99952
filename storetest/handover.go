package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
)

// HandOver is two stores on the same data, as two servers have them: what frees a
// resource on one wakes who waits for it on the other.
type HandOver struct {
	Holding leasehold.Store
	Waiting interface {
		leasehold.Store
		leasehold.Waiter
	}

	// Noted reports whether whoever frees the resource knows that somebody waits.
	Noted func(resource string) bool

	// Free frees a lease. Nil: it is released.
	Free func(g leasehold.Grant) error
}

// firstLook is when a waiter looks by itself at the earliest.
const firstLook = 4 * time.Second

// soon is how soon a waiter is woken where nothing else keeps the machine busy.
const soon = 100 * time.Millisecond

// Check lets leases change hands, and expects most waiters to be woken before they
// look by themselves, and some of them soon. Not all of them: a busy machine may be
// slower than a look.
func (h HandOver) Check(t testing.TB, rounds int) {
	t.Helper()
	var took []time.Duration
	late := 0
	for i := range rounds {
		waited, woken := h.round(t, fmt.Sprint("hand-over-", i))
		if waited >= firstLook {
			late++
		}
		took = append(took, woken)
	}
	slices.Sort(took)
	t.Logf("woken after %v in the middle, %v at most; %d of %d so late that it may have been a look", took[len(took)/2], took[len(took)-1], late, rounds)
	if took[0] > soon {
		t.Errorf("no waiter was woken sooner than after %v, want some within %v", took[0], soon)
	}
	if 2*late > rounds {
		t.Errorf("%d of %d waiters were woken no sooner than by their own look, want them woken by a notice", late, rounds)
	}
}

// round returns how long the waiter waited in all, and since it was free.
func (h HandOver) round(t testing.TB, resource string) (waited, woken time.Duration) {
	t.Helper()
	g, err := h.Holding.Acquire(t.Context(), leasehold.AcquireRequest{Resource: resource, Holder: "holder of " + resource, TTL: 10 * time.Minute})
	if err != nil {
		t.Fatalf("Acquire(%q) = %v, want a grant", resource, err)
	}
	granted := make(chan time.Time, 1)
	var next leasehold.Grant
	started := time.Now()
	go func() {
		defer func() { granted <- time.Now() }()
		next, err = h.Waiting.Wait(t.Context(), leasehold.AcquireRequest{Resource: resource, Holder: "waiter", TTL: 10 * time.Minute, Timeout: 5 * time.Minute})
	}()
	for deadline := time.Now().Add(time.Minute); !h.Noted(resource); time.Sleep(5 * time.Millisecond) { // polls a real server
		if time.Now().After(deadline) {
			t.Fatalf("nothing shows that somebody waits for %q", resource)
		}
	}
	time.Sleep(100 * time.Millisecond) // its first try is over, and it listens
	freed := time.Now()
	freeErr := h.free(t, g)
	at := <-granted
	if freeErr != nil || err != nil {
		t.Fatalf("freeing %q = %v, and waiting for it %v; want success", resource, freeErr, err)
	}
	if next.Token <= g.Token {
		t.Errorf("token %d comes after %d", next.Token, g.Token)
	}
	return at.Sub(started), at.Sub(freed)
}

func (h HandOver) free(t testing.TB, g leasehold.Grant) error {
	if h.Free != nil {
		return h.Free(g)
	}
	_, err := h.Holding.Release(t.Context(), leasehold.ReleaseRequest{ID: g.ID, Resource: g.Resource})
	return err
}
