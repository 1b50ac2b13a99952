package storetest_test

import (
	"context"
	"fmt"
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

// errorLog is a test that records failures.
type errorLog struct {
	testing.TB
	errors []string
}

func (l *errorLog) Helper() {}

func (l *errorLog) Errorf(format string, args ...any) {
	l.errors = append(l.errors, fmt.Sprintf(format, args...))
}

const (
	available = leasehold.StateAvailable
	active    = leasehold.StateActive
	breaking  = leasehold.StateBreaking
	released  = leasehold.StateReleased
	expired   = leasehold.StateExpired
)

func line(seq uint64, kind leasehold.Kind, token uint64, before, after leasehold.State, renewals int) leasehold.Record {
	return leasehold.Record{Seq: seq, Kind: kind, Resource: "r", Holder: "h", Token: token, Before: before, After: after, Renewals: renewals}
}

// upgraded is the record of a set in other modes.
func upgraded(r leasehold.Record, replaces string) leasehold.Record {
	r.Details = map[string]string{"replaces_token": replaces}
	return r
}

func TestCheckRecords(t *testing.T) {
	acquired := line(1, leasehold.KindAcquired, 5, available, active, 0)
	for name, c := range map[string]struct {
		records []leasehold.Record
		want    string // part of the complaint; empty: none
	}{
		"a life": {[]leasehold.Record{
			acquired,
			line(2, leasehold.KindRenewed, 5, active, active, 1),
			line(3, leasehold.KindBreaking, 5, active, breaking, 1),
			line(4, leasehold.KindReleased, 5, breaking, released, 1),
			line(5, leasehold.KindAcquired, 6, released, active, 0),
			line(6, leasehold.KindExpired, 6, active, expired, 0),
			line(7, leasehold.KindAcquired, 7, available, active, 0), // forgotten meanwhile
		}, ""},
		"an upgrade":           {[]leasehold.Record{acquired, upgraded(line(2, leasehold.KindAcquired, 6, active, active, 1), "5")}, ""},
		"a foreign upgrade":    {[]leasehold.Record{acquired, upgraded(line(2, leasehold.KindAcquired, 6, active, active, 1), "4")}, "replaces token 4"},
		"an upgrade uncounted": {[]leasehold.Record{acquired, upgraded(line(2, leasehold.KindAcquired, 6, active, active, 0), "5")}, "0 renewals after 0"},
		"a gap":                {[]leasehold.Record{acquired, line(3, leasehold.KindRenewed, 5, active, active, 1)}, "record 3 follows 1"},
		"an orphan":            {[]leasehold.Record{line(1, leasehold.KindReleased, 5, active, released, 0)}, "left it available"},
		"a missing end":        {[]leasehold.Record{acquired, line(2, leasehold.KindAcquired, 6, expired, active, 0)}, "left it active"},
		"two grants":           {[]leasehold.Record{acquired, line(2, leasehold.KindAcquired, 6, active, active, 0)}, "leads from active to active"},
		"a token that stands":  {[]leasehold.Record{acquired, line(2, leasehold.KindReleased, 5, active, released, 0), line(3, leasehold.KindAcquired, 5, released, active, 0)}, "token 5 after 5"},
		"a foreign token":      {[]leasehold.Record{acquired, line(2, leasehold.KindReleased, 4, active, released, 0)}, "token 4"},
		"a revival":            {[]leasehold.Record{acquired, line(2, leasehold.KindExpired, 5, active, expired, 0), line(3, leasehold.KindRenewed, 5, expired, active, 1)}, "leads from expired to active"},
		"a lost renewal":       {[]leasehold.Record{acquired, line(2, leasehold.KindReleased, 5, active, released, 1)}, "1 renewals after 0"},
		"a renewal uncounted":  {[]leasehold.Record{acquired, line(2, leasehold.KindRenewed, 5, active, active, 0)}, "0 renewals after 0"},
	} {
		t.Run(name, func(t *testing.T) {
			l := &errorLog{TB: t}
			storetest.CheckRecords(l, c.records)
			all := strings.Join(l.errors, "\n")
			if c.want == "" && all != "" || !strings.Contains(all, c.want) {
				t.Errorf("CheckRecords said %q, want %q", all, c.want)
			}
		})
	}
}
