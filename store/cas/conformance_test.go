package cas_test

import (
	"testing"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/store/cas"
	"github.com/leasehold/leasehold/storetest"
)

// lacks is what a store on a plain backend cannot do.
var lacks = []storetest.Capability{storetest.Settings, storetest.ForceRelease, storetest.Watching}

// harness opens stores on a backend, and again on the same one.
func harness(make func() cas.Backend, more ...storetest.Capability) storetest.Harness {
	backends := map[leasehold.Store]cas.Backend{}
	open := func(t testing.TB, b cas.Backend) leasehold.Store {
		s := cas.New(b, nil)
		backends[s] = b
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	return storetest.Harness{
		Open: func(t testing.TB) leasehold.Store { return open(t, make()) },
		Reopen: func(t testing.TB, old leasehold.Store) leasehold.Store {
			_ = old.Close()
			return open(t, backends[old])
		},
		Bubble:  true,
		Without: append(more, storetest.KeptPlaces, storetest.Sets, storetest.Notes, storetest.Deadlocks, storetest.Waits, storetest.ForceChildren),
	}
}

func TestConformance(t *testing.T) {
	testserver.Wanted(t)
	t.Run("WithEverything", func(t *testing.T) {
		storetest.Run(t, harness(func() cas.Backend { return newConfigured() }))
	})
	t.Run("WithHistory", func(t *testing.T) {
		storetest.Run(t, harness(func() cas.Backend { return keeping{finding{service: newService()}} }, lacks...))
	})
	t.Run("WithoutHistory", func(t *testing.T) {
		storetest.Run(t, harness(func() cas.Backend { return finding{service: newService()} }, append(lacks, storetest.History)...))
	})
	t.Run("Bare", func(t *testing.T) {
		storetest.Run(t, harness(func() cas.Backend { return newService() },
			append(lacks, storetest.History, storetest.Finding, storetest.UniqueIDs)...))
	})
}
