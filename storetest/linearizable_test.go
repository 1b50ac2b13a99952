package storetest_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/storetest"
)

// TestHammerOnGoodStores: what is right is not called wrong.
func TestHammerOnGoodStores(t *testing.T) {
	for seed := range uint64(5) {
		for name, store := range map[string]leasehold.Store{"naive": newNaive(none), "memory": openMemory(t)} {
			rec := storetest.Hammer(t, store, &storetest.LoadOptions{Seed: seed, Waiting: true})
			if err := rec.Check(); err != nil {
				t.Errorf("%s, seed %d: %v", name, seed, err)
			}
			if rec.Len() < 480 || rec.Grants() < 20 {
				t.Errorf("%s, seed %d: %d calls with %d grants, want some load", name, seed, rec.Len(), rec.Grants())
			}
		}
	}
}

// TestCheckerCatches: what is wrong is not called right. A load is random, so
// the flaw has a few to come to light in.
func TestCheckerCatches(t *testing.T) {
	for _, f := range []flaw{grantsTwice, repeatsTokens, losesReleases, releasesByName} {
		t.Run(strings.ReplaceAll(string(f), " ", "-"), func(t *testing.T) {
			for seed := range uint64(10) {
				err := storetest.Hammer(t, newNaive(f), &storetest.LoadOptions{Seed: seed}).Check()
				if err != nil && strings.Contains(err.Error(), "not linearizable") {
					return
				}
			}
			t.Errorf("a store that %s passes ten loads", f)
		})
	}
	t.Run("revives", revivesExpired)
}

// revivesExpired lets a lease expire, seen by all, before it is renewed.
func revivesExpired(t *testing.T) {
	ctx := t.Context()
	rec := storetest.Record(newNaive(revives))
	g, _ := rec.Acquire(ctx, leasehold.AcquireRequest{Resource: "r", Holder: "h", ID: leasehold.NewID(), TTL: time.Second})
	time.Sleep(1100 * time.Millisecond) // the store reads the real clock
	_, _ = rec.Status(ctx, "r")
	_, _ = rec.Renew(ctx, leasehold.RenewRequest{ID: g.ID, Resource: "r"})
	if err := rec.Recording().Check(); err == nil {
		t.Error("a store that revives what was seen to have ended: Check = nil")
	}
}

// faulty loses answers: the call happened or did not, as far as the error says.
type faulty struct {
	leasehold.Store
	mu     sync.Mutex
	random *rand.Rand
}

func (f *faulty) roll(n int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.random.IntN(n)
}

func fault[T any](f *faulty, call func() (T, error)) (T, error) {
	var zero T
	switch f.roll(10) {
	case 0: // lost on the way
		return zero, &leasehold.Error{Reason: leasehold.ReasonUnknown}
	case 1: // lost on the way back
		_, _ = call()
		return zero, &leasehold.Error{Reason: leasehold.ReasonUnknown}
	case 2: // refused
		return zero, &leasehold.Error{Reason: leasehold.ReasonUnavailable}
	}
	return call()
}

func (f *faulty) Acquire(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	return fault(f, func() (leasehold.Grant, error) { return f.Store.Acquire(ctx, r) })
}

func (f *faulty) Renew(ctx context.Context, r leasehold.RenewRequest) (leasehold.Lease, error) {
	return fault(f, func() (leasehold.Lease, error) { return f.Store.Renew(ctx, r) })
}

func (f *faulty) Release(ctx context.Context, r leasehold.ReleaseRequest) (leasehold.Lease, error) {
	return fault(f, func() (leasehold.Lease, error) { return f.Store.Release(ctx, r) })
}

func (f *faulty) Status(ctx context.Context, resource string) (leasehold.Status, error) {
	return fault(f, func() (leasehold.Status, error) { return f.Store.Status(ctx, resource) })
}

func (f *faulty) Break(ctx context.Context, r leasehold.BreakRequest) (leasehold.Lease, error) {
	return fault(f, func() (leasehold.Lease, error) { return f.Store.(leasehold.Breaker).Break(ctx, r) })
}

func (f *faulty) Transfer(ctx context.Context, r leasehold.TransferRequest) (leasehold.Lease, error) {
	return fault(f, func() (leasehold.Lease, error) { return f.Store.(leasehold.Transferer).Transfer(ctx, r) })
}

// TestLostAnswersAreNotErrors: a call in doubt may have happened or not.
func TestLostAnswersAreNotErrors(t *testing.T) {
	for seed := range uint64(10) {
		store := &faulty{Store: newNaive(none), random: rand.New(rand.NewPCG(seed, 0))}
		rec := storetest.Hammer(t, store, &storetest.LoadOptions{Seed: seed, Workers: 5, Calls: 40})
		storetest.CheckHistory(t, rec)
		if rec.InDoubt() == 0 || rec.Failed() == 0 {
			t.Errorf("seed %d: %d calls in doubt and %d failed, want some of both", seed, rec.InDoubt(), rec.Failed())
		}
	}
}

// denies carries everything out and says of one kind of call that it did not.
type denies struct {
	*naive
	about string
}

func (d denies) Acquire(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	g, err := d.naive.Acquire(ctx, r)
	if d.about == "acquire" {
		return leasehold.Grant{}, &leasehold.Error{Reason: leasehold.ReasonUnavailable}
	}
	return g, err
}

func (d denies) Release(ctx context.Context, r leasehold.ReleaseRequest) (leasehold.Lease, error) {
	ended, err := d.naive.Release(ctx, r)
	if d.about == "release" {
		return leasehold.Lease{}, &leasehold.Error{Reason: leasehold.ReasonUnavailable}
	}
	return ended, err
}

// TestDeniedCallsAreCaught: ErrUnavailable says that nothing happened.
func TestDeniedCallsAreCaught(t *testing.T) {
	ctx := t.Context()
	for about, want := range map[string]bool{"nothing": true, "acquire": false, "release": false} {
		rec := storetest.Record(denies{newNaive(none), about})
		id := leasehold.NewID()
		_, _ = rec.Acquire(ctx, leasehold.AcquireRequest{Resource: "r", Holder: "h", ID: id, TTL: time.Hour})
		_, _ = rec.Status(ctx, "r")
		_, _ = rec.Release(ctx, leasehold.ReleaseRequest{ID: id, Resource: "r"})
		_, _ = rec.Status(ctx, "r")
		if err := rec.Recording().Check(); (err == nil) != want {
			t.Errorf("a store that denies %s: Check = %v, want success %v", about, err, want)
		}
	}
}

// TestHistoryGoesOnAfterRestart records across a restart.
func TestHistoryGoesOnAfterRestart(t *testing.T) {
	for f, want := range map[flaw]bool{none: true, restartsTokens: false} {
		first := newNaive(f)
		rec := storetest.Record(first)
		storetest.Hammer(t, rec, &storetest.LoadOptions{Seed: 3})
		rec.Switch(first.reopened())
		err := storetest.Hammer(t, rec, &storetest.LoadOptions{Seed: 4}).Check()
		if ok := err == nil; ok != want {
			t.Errorf("across a restart, flaw %q: Check = %v, want success %v", f, err, want)
		}
	}
}

// TestShortLeasesMayEnd: with a short ttl the checker allows for expiry.
func TestShortLeasesMayEnd(t *testing.T) {
	ctx := t.Context()
	rec := storetest.Record(newNaive(none))
	for _, holder := range []string{"a", "b"} {
		_, err := rec.Acquire(ctx, leasehold.AcquireRequest{Resource: "r", Holder: holder, TTL: time.Second})
		if err != nil {
			t.Fatalf("Acquire = %v, want a grant", err)
		}
		time.Sleep(1050 * time.Millisecond) // the store reads the real clock
	}
	_, _ = rec.Status(ctx, "r")
	storetest.CheckHistory(t, rec.Recording())
}
