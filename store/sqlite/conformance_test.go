package sqlite

import (
	"path/filepath"
	"runtime"
	"testing"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/storetest"
)

// TestConformance runs hours of leases in a bubble, with a commit for every
// simulated second: real syncs would make real minutes of them. That syncs
// lose nothing is what the crash test is for.
func TestConformance(t *testing.T) {
	t.Parallel()
	opts := &Options{Durability: DurabilityNormal}
	storetest.Run(t, storetest.Harness{
		Open: func(t testing.TB) leasehold.Store {
			return newStore(t, filepath.Join(t.TempDir(), "leases.db"), opts)
		},
		Reopen: func(t testing.TB, old leasehold.Store) leasehold.Store {
			s := old.(*Store)
			if err := s.Close(); err != nil {
				t.Fatalf("Close() = %v", err)
			}
			return newStore(t, s.journal.path, opts)
		},
		Bubble:  true,
		Without: notHere(),
	})
}

// notHere is what the engine cannot do on systems whose boot clock it does not
// know.
func notHere() []storetest.Capability {
	if runtime.GOOS == "linux" || runtime.GOOS == "darwin" {
		return nil
	}
	return []storetest.Capability{storetest.Downtime}
}
