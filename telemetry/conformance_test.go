package telemetry_test

import (
	"testing"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/memory"
	"github.com/leasehold/leasehold/storetest"
)

// Through telemetry, with everything recorded, a store is the store that it was.
func TestConformance(t *testing.T) {
	storetest.Run(t, storetest.Harness{
		Bubble: true,
		Open: func(t testing.TB) leasehold.Store {
			s := newFixture(t, nil).t.Store(memory.New(), "memory")
			t.Cleanup(func() { s.Close() })
			return s
		},
	})
}
