package storetest_test

import (
	"testing"

	"github.com/leasehold/leasehold/storetest"
)

// TestNaiveInRealTime runs the suite as stores in other processes must: with
// real waiting, all checks together, and clocks that nobody can turn.
func TestNaiveInRealTime(t *testing.T) {
	t.Parallel()
	h := naiveHarness(none)
	h.Bubble, h.Parallel = false, true
	storetest.Run(t, h)
}
