package chaos_test

import (
	"testing"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/chaos"
	"github.com/leasehold/leasehold/store/memory"
	"github.com/leasehold/leasehold/storetest"
)

// Without faults the wrapper is the store that it wraps.
func TestConformance(t *testing.T) {
	storetest.Run(t, storetest.Harness{
		Bubble: true,
		Open: func(t testing.TB) leasehold.Store {
			s := chaos.Wrap(memory.New(), nil)
			t.Cleanup(func() { s.Close() })
			return s
		},
	})
}
