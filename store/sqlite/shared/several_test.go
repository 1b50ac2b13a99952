package shared

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/soak"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/store/sqlite"
	"github.com/leasehold/leasehold/store/sqlite/internal/dbfile"
	"github.com/leasehold/leasehold/storetest"
	sqlitedb "zombiezen.com/go/sqlite"
)

// several is some stores on one file, which take turns.
type several struct {
	storetest.Alternate
	path string
}

func openSeveral(t testing.TB, n int, path string, opts *Options) *several {
	s := &several{path: path}
	for range n {
		s.Stores = append(s.Stores, newStore(t, path, opts))
	}
	return s
}

// TestConformanceOfTwo: two stores on one file that take turns are one store.
func TestConformanceOfTwo(t *testing.T) {
	testserver.Wanted(t)
	t.Parallel()
	opts := &Options{Durability: sqlite.DurabilityNormal}
	storetest.Run(t, storetest.Harness{
		Open: func(t testing.TB) leasehold.Store {
			return openSeveral(t, 2, filepath.Join(t.TempDir(), "leases.db"), opts)
		},
		Reopen: func(t testing.TB, old leasehold.Store) leasehold.Store {
			if err := old.Close(); err != nil {
				t.Fatalf("Close() = %v", err)
			}
			return openSeveral(t, 2, old.(*several).path, opts)
		},
		Bubble:  true,
		Without: append([]storetest.Capability{storetest.Watching}, lacks...),
	})
}

// TestLinearizable: four stores on one file, sixteen workers.
func TestLinearizable(t *testing.T) {
	for range soak.Rounds(1, 8) {
		s := openSeveral(t, 4, filepath.Join(t.TempDir(), "leases.db"), nil)
		rec := storetest.Hammer(t, s, &storetest.LoadOptions{Workers: 16, Calls: 60, Resources: 4, Seed: rand.Uint64()})
		t.Logf("%d calls, %d grants, %d in doubt, %d failed", rec.Len(), rec.Grants(), rec.InDoubt(), rec.Failed())
		if rec.InDoubt()+rec.Failed() > 0 {
			t.Errorf("%d calls in doubt and %d failed, though nothing was broken", rec.InDoubt(), rec.Failed())
		}
		storetest.CheckHistory(t, rec)
	}
}

// TestLinearizableExpiry: the same with leases that end during the test.
func TestLinearizableExpiry(t *testing.T) {
	testserver.Wanted(t)
	s := openSeveral(t, 4, filepath.Join(t.TempDir(), "leases.db"), nil)
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(soak.Rounds(6, 30))*time.Second)
	defer cancel()
	rec := storetest.Hammer(t, s, &storetest.LoadOptions{Workers: 16, Calls: 400, Resources: 6, TTL: time.Second, Seed: rand.Uint64(), Context: ctx})
	t.Logf("%d calls, %d grants", rec.Len(), rec.Grants())
	storetest.CheckHistory(t, rec)
}

// TestLinearizableFaults: commits fail, before they happen or after, and the answers
// are still true.
func TestLinearizableFaults(t *testing.T) {
	testserver.Wanted(t)
	s := openSeveral(t, 4, filepath.Join(t.TempDir(), "leases.db"), nil)
	var mu sync.Mutex
	random, failed := rand.New(rand.NewPCG(rand.Uint64(), 1)), 0
	for _, one := range s.Stores {
		one.(*testStore).db.commit = func(w *dbfile.Writer) error {
			mu.Lock()
			fault := random.IntN(10)
			if fault < 2 {
				failed++
			}
			mu.Unlock()
			switch fault {
			case 0:
				return sqlitedb.ResultIOErrFsync.ToError() // and nothing is there
			case 1:
				if err := w.Commit(); err != nil {
					return err
				}
				return sqlitedb.ResultIOErrFsync.ToError() // and all of it is
			}
			return w.Commit()
		}
	}
	rec := storetest.Hammer(t, s, &storetest.LoadOptions{Workers: 16, Calls: 60, Resources: 4, Seed: rand.Uint64()})
	for _, one := range s.Stores {
		one.(*testStore).db.commit = (*dbfile.Writer).Commit
	}
	t.Logf("%d calls, %d grants, %d in doubt, %d failed; %d commits failed", rec.Len(), rec.Grants(), rec.InDoubt(), rec.Failed(), failed)
	if failed == 0 || rec.InDoubt() == 0 {
		t.Errorf("%d commits failed and %d calls were in doubt", failed, rec.InDoubt())
	}
	storetest.CheckHistory(t, rec)
}
