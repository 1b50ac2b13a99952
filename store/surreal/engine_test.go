package surreal

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/cas"
)

// Of many that write under the same version one succeeds. It is the database that
// promises that, and all leases depend on it.
func TestOneWriterWins(t *testing.T) {
	addr := testserver.Surreal(t).Addr
	const writers = 8
	var backends []*backend
	for range writers {
		s := openOn(t, addr, Options{Database: "writers"})
		backends = append(backends, s.backend)
	}
	for round := range 300 {
		name := fmt.Sprint("r", round%3)
		item, err := backends[0].Load(t.Context(), name)
		must(t, err)
		var won atomic.Int64
		var all sync.WaitGroup
		for i, b := range backends {
			all.Go(func() {
				row := machine.Row{Resource: name, Holder: fmt.Sprint("h", i), ID: leasehold.NewID(), Token: uint64(round), State: leasehold.StateActive, TTL: time.Minute, Ends: machine.Never}
				_, err := b.Swap(context.Background(), item.Version, cas.Write{Row: row, Marks: []string{fmt.Sprint(round, "-", i)}})
				if err == nil {
					won.Add(1)
				}
			})
		}
		all.Wait()
		if won.Load() != 1 {
			t.Fatalf("round %d: %d of %d writers won, want one", round, won.Load(), writers)
		}
	}
}
