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

// A transaction does not fail because of what it has only read: another one may change
// that before it commits. So a mark that all transactions read would not close the
// store to those under way, and the leases cannot be moved.
func TestReadsDoNotConflict(t *testing.T) {
	addr := testserver.Surreal(t).Addr
	slow, fast := openOn(t, addr, Options{Database: "reads"}).backend, openOn(t, addr, Options{Database: "reads"}).backend
	var done any
	must(t, slow.last(t.Context(), "UPSERT mark:m CONTENT { v: 'open' }; RETURN 1", nil, &done))
	began, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		close(began)
		var done any
		ended <- slow.last(t.Context(), `BEGIN; LET $v = (SELECT VALUE v FROM ONLY mark:m); SLEEP 2s;
			UPSERT mark:lease CONTENT { v: $v }; COMMIT; RETURN 1`, nil, &done)
	}()
	<-began
	time.Sleep(time.Second) // it has read, and sleeps
	must(t, fast.last(t.Context(), "UPSERT mark:m CONTENT { v: 'closed' }; RETURN 1", nil, &done))
	must(t, <-ended)
	var seen string
	must(t, fast.last(t.Context(), "RETURN mark:lease.v", nil, &seen))
	if seen != "open" {
		t.Errorf("what was written after the store was closed has read %q, want open", seen)
	}
}
