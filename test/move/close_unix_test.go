//go:build unix

package move_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/move"
	"github.com/leasehold/leasehold/internal/soak"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/open"
)

// Once a store is closed nothing is written any more, by whatever operation was under
// way.
func TestNothingSlipsThrough(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		nothingSlipsThrough(t, open.SQLiteURL(filepath.Join(t.TempDir(), "leases.db"))+"?mode=shared")
	})
	t.Run("postgres", func(t *testing.T) {
		nothingSlipsThrough(t, testserver.PostgresURL(testserver.Postgres(t).Addr, "postgres"))
	})
	t.Run("etcd", func(t *testing.T) {
		nothingSlipsThrough(t, "etcd://"+testserver.Etcd(t).Addr)
	})
}

// full is a store with the powers that change anything.
type full interface {
	open.Movable
	leasehold.Breaker
	leasehold.Configurer
	leasehold.HolderReleaser
	leasehold.Historian
	leasehold.Transferer
}

func nothingSlipsThrough(t *testing.T, url string) {
	var refused, done atomic.Int64
	var workers sync.WaitGroup
	stop := make(chan struct{})
	for range 3 {
		s := openMovable(t, url).(full)
		for range 3 {
			workers.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					switch err := changeAnything(s); {
					case err == nil:
						done.Add(1)
					case errors.Is(err, leasehold.ErrUnavailable):
						refused.Add(1)
					case !errors.Is(err, leasehold.ErrHeld) && !errors.Is(err, leasehold.ErrNotFound) && !errors.Is(err, leasehold.ErrLost):
						t.Errorf("%v", err)
						return
					}
				}
			})
		}
	}
	defer workers.Wait()
	defer close(stop)
	s := openMovable(t, url).(full)
	for round := range soak.Rounds(20, 100) {
		moreThan(t, &done, done.Load()+20)
		old, err := s.MoveMark(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		leaving := move.Mark{ID: fmt.Sprint("move/", round), State: move.Leaving, Peer: "nowhere:", Lasts: time.Hour}
		if err := s.SwapMoveMark(t.Context(), old, leaving); err != nil {
			t.Fatal(err)
		}
		closed := contentOf(t, s)
		moreThan(t, &refused, refused.Load()+50)
		if diff := cmp.Diff(closed, contentOf(t, s)); diff != "" {
			t.Fatalf("round %d: a closed store has changed:\n%s", round, diff)
		}
		if err := s.SwapMoveMark(t.Context(), leaving, move.Mark{ID: leaving.ID}); err != nil {
			t.Fatal(err)
		}
	}
}

func moreThan(t *testing.T, n *atomic.Int64, least int64) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); n.Load() <= least; time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("nothing happens any more")
		}
	}
}

// changeAnything does one operation at random.
func changeAnything(s full) (err error) {
	ctx := context.Background()
	resource, holder := fmt.Sprintf("r%d", rand.IntN(8)), fmt.Sprintf("h%d", rand.IntN(4))
	r := leasehold.AcquireRequest{Resource: resource, Holder: holder, TTL: time.Hour}
	switch rand.IntN(12) {
	case 0:
		if _, err = s.ReleaseHolder(ctx, holder, "test"); errors.Is(err, leasehold.ErrUnsupported) {
			_, err = s.Acquire(ctx, r)
		}
	case 1:
		_, err = s.SetSetting(ctx, leasehold.SettingMaxRenewals, rand.Int64N(100)+5)
	case 2:
		_, err = s.Break(ctx, leasehold.BreakRequest{Resource: resource})
	default:
		var g leasehold.Grant
		if g, err = s.Acquire(ctx, r); err != nil {
			return err
		}
		if _, err = s.Renew(ctx, leasehold.RenewRequest{Resource: resource, ID: g.ID}); err != nil {
			return err
		}
		_, err = s.Release(ctx, leasehold.ReleaseRequest{Resource: resource, ID: g.ID})
	}
	return err
}

// content is all that a move takes along, and the end of the history.
type content struct {
	Leases  []move.Lease
	Summary move.Summary
	Last    []leasehold.Record
}

func contentOf(t *testing.T, s full) (c content) {
	t.Helper()
	var err error
	if c.Leases, err = s.Export(t.Context(), "", 1000); err != nil {
		t.Fatal(err)
	}
	for i := range c.Leases {
		c.Leases[i].Remaining, c.Leases[i].Row.Ends = 0, 0
	}
	if c.Summary, err = s.MoveSummary(t.Context()); err != nil {
		t.Fatal(err)
	}
	page, err := s.History(t.Context(), leasehold.HistoryRequest{Limit: 3})
	if err != nil {
		t.Fatal(err)
	}
	c.Last = page.Records
	return c
}
