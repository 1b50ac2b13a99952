package sqltx

import (
	"testing"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/powers"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/storetest"
)

// conform runs the suite on databases that open makes.
func conform(t *testing.T, open func() DB, lacks ...storetest.Capability) {
	storetest.Run(t, storetest.Harness{
		Bubble: true,
		Open: func(t testing.TB) leasehold.Store {
			s := New(open(), nil)
			t.Cleanup(func() { _ = s.Close() })
			return s
		},
		Reopen: func(t testing.TB, old leasehold.Store) leasehold.Store {
			if err := old.Close(); err != nil {
				t.Fatalf("Close() = %v", err)
			}
			s := New(old.(*Store).db, nil)
			t.Cleanup(func() { _ = s.Close() })
			return s
		},
		Queued:  func(s leasehold.Store, resource string) int { return s.(*Store).Waiting(resource) },
		Without: append(lacks, powers.Lacks[storetest.Capability](powers.KindPostgres)...),
	})
}

func TestConformance(t *testing.T) {
	conform(t, func() DB { return newMemoryDB() })
}

func TestConformanceOfASwapper(t *testing.T) {
	testserver.Wanted(t)
	conform(t, func() DB { return newSwappingDB() })
}

func TestConformanceWithoutWaiting(t *testing.T) {
	testserver.Wanted(t)
	conform(t, func() DB {
		d := newMemoryDB()
		d.traits.NoWaiting = true
		return d
	}, storetest.Waiting)
}

func TestConformanceWithoutHistory(t *testing.T) {
	testserver.Wanted(t)
	conform(t, func() DB {
		d := newSwappingDB()
		d.traits.NoHistory = true
		return d
	}, storetest.History, storetest.Watching)
}
