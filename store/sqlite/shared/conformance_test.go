package shared

import (
	"path/filepath"
	"testing"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/powers"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/store/sqlite"
	"github.com/leasehold/leasehold/storetest"
)

// lacks is what shared mode cannot do.
var lacks = powers.Lacks[storetest.Capability](powers.KindSQLiteShared)

// TestConformance runs hours of leases in a bubble. Real syncs would make real
// minutes of them; that syncs lose nothing is what the crash test is for.
func TestConformance(t *testing.T) {
	testserver.Wanted(t)
	t.Parallel()
	opts := &Options{Durability: sqlite.DurabilityNormal}
	storetest.Run(t, storetest.Harness{
		Open: func(t testing.TB) leasehold.Store {
			return newStore(t, filepath.Join(t.TempDir(), "leases.db"), opts)
		},
		Reopen: func(t testing.TB, old leasehold.Store) leasehold.Store {
			s := old.(*testStore)
			if err := s.Close(); err != nil {
				t.Fatalf("Close() = %v", err)
			}
			return newStore(t, s.path, opts)
		},
		Bubble:  true,
		Without: lacks,
	})
}

// testStore knows its file.
type testStore struct {
	*Store
	path string
}

func newStore(t testing.TB, path string, opts *Options) *testStore {
	t.Helper()
	s, err := Open(t.Context(), path, opts)
	if err != nil {
		t.Fatalf("Open(%q) = %v", path, err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	})
	return &testStore{s, path}
}
