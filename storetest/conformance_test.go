package storetest_test

import (
	"testing"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/memory"
	"github.com/leasehold/leasehold/storetest"
)

// openMemory opens the embedded engine, which can do everything.
func openMemory(t testing.TB) leasehold.Store {
	s := memory.New()
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestMemory(t *testing.T) {
	storetest.Run(t, storetest.Harness{Open: openMemory, Bubble: true})
}

func BenchmarkMemory(b *testing.B) { storetest.Bench(b, openMemory) }

// TestNaiveInRealTime runs the suite as stores in other processes must: with
// real waiting, all checks together, and clocks that no test controls.
func TestNaiveInRealTime(t *testing.T) {
	t.Parallel()
	h := naiveHarness(none)
	h.Bubble, h.Parallel = false, true
	storetest.Run(t, h)
}
