package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
)

// FaultLoad is a load on stores whose server or network is broken meanwhile.
type FaultLoad struct {
	Rounds int
	Calls  int // of each worker in a round

	// Open makes the store of a round, without leases.
	Open func(round int) leasehold.Store

	// Disturb makes faults until ctx ends, and returns how many.
	Disturb func(ctx context.Context, round int) int

	// MayLoseNone allows that the faults lose no answer.
	MayLoseNone bool
}

// HammerWithFaults hammers a store in each round with 16 workers, some of which
// wait, while there are faults, and expects each history to be linearizable. It fails
// if too little happened to say anything.
func HammerWithFaults(t testing.TB, l FaultLoad) {
	t.Helper()
	faults, calls, doubts, grants := 0, 0, 0, 0
	for round := range l.Rounds {
		s := l.Open(round)
		ctx, stop := context.WithCancel(t.Context())
		var disturber sync.WaitGroup
		disturber.Go(func() { faults += l.Disturb(ctx, round) })
		rec := Hammer(t, s, &LoadOptions{Workers: 16, Calls: l.Calls, Resources: 4, Seed: uint64(round), Waiting: true})
		stop()
		disturber.Wait()
		CheckHistory(t, rec)
		if err := s.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
		calls, doubts, grants = calls+rec.Len(), doubts+rec.InDoubt(), grants+rec.Grants()
	}
	t.Logf("%d calls, %d grants, %d answers lost, %d faults", calls, grants, doubts, faults)
	if faults == 0 || grants == 0 || doubts == 0 && !l.MayLoseNone {
		t.Error("too little happened to say anything")
	}
}

// Hold holds a lease with a Manager for the duration, which is longer than the ttl.
// The lease is never lost, is renewed and at last released. Another store on the same
// data sees its token all the time, and never gets it.
func Hold(t testing.TB, store, other leasehold.Store, ttl, duration time.Duration) {
	t.Helper()
	manager, err := leasehold.NewManager(store, &leasehold.Options{TTL: ttl})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := manager.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("Close = %v", err)
		}
	}()
	h, err := manager.Acquire(t.Context(), "held")
	if err != nil {
		t.Fatalf("Acquire = %v, want the lease", err)
	}
	refused := 0
	for end := time.Now().Add(duration); time.Now().Before(end); refused++ {
		if err := refuses(h, other, ttl); err != nil {
			t.Fatalf("after %d renewals: %v", h.Renewals(), err)
		}
		select {
		case <-h.Context().Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
	renewals := h.Renewals()
	if err := h.Release(t.Context()); err != nil {
		t.Errorf("Release = %v, want the lease held until now", err)
	}
	t.Logf("held for %v, %d renewals, %d others refused", duration, renewals, refused)
	if least := int((duration - 1) / ttl); renewals < least {
		t.Errorf("%d renewals, want %d or more for %v with a ttl of %v", renewals, least, duration, ttl)
	}
}

// refuses expects the lease to be held, and the other store to know it.
func refuses(h *leasehold.Held, other leasehold.Store, ttl time.Duration) error {
	ctx := h.Context()
	_, acquireErr := other.Acquire(ctx, leasehold.AcquireRequest{Resource: h.Resource(), Holder: "other", TTL: ttl})
	status, statusErr := other.Status(ctx, h.Resource())
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("the lease was lost: %w", context.Cause(ctx))
	case !errors.Is(acquireErr, leasehold.ErrHeld):
		return fmt.Errorf("Acquire by another = %v, want ErrHeld", acquireErr)
	case statusErr != nil || !status.Check(h.Token()):
		return fmt.Errorf("Status = %+v, %v; want token %d", status.Lease, statusErr, h.Token())
	}
	return nil
}
