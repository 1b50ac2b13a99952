package surreal

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/soak"
	"github.com/leasehold/leasehold/internal/testserver"
)

// A server that is killed keeps every grant and every release that was answered, the
// store connects again by itself, and tokens go on growing.
func TestServerKilled(t *testing.T) {
	server := testserver.Surreal(t)
	s := openOn(t, server.Addr, Options{Timeout: 2 * time.Second})
	var mu sync.Mutex
	granted := map[string]leasehold.Grant{}
	for round := range soak.Rounds(3, 8) {
		ctx, stop := context.WithCancel(t.Context())
		var workers sync.WaitGroup
		for w := range 8 {
			workers.Go(func() {
				for i := 0; ctx.Err() == nil; i++ {
					resource := fmt.Sprintf("r%d-%d-%d", round, w, i)
					g, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: resource, Holder: "h", TTL: time.Hour})
					if err != nil {
						continue
					}
					mu.Lock()
					granted[resource] = g
					mu.Unlock()
				}
			})
		}
		time.Sleep(time.Duration(200+100*round) * time.Millisecond) // anywhere
		server.Kill()
		stop()
		workers.Wait()
		server.Start()
		for resource, g := range granted {
			status, err := s.Status(t.Context(), resource)
			if err != nil || !status.Locked() || status.Lease.Token != g.Token {
				t.Fatalf("Status(%s) after a kill = %+v, %v; want the lease with token %d", resource, status.Lease, err, g.Token)
			}
		}
		old := acquire(t, s, "again", "h", time.Hour)
		_, err := s.Release(t.Context(), leasehold.ReleaseRequest{ID: old.ID, Resource: "again"})
		must(t, err)
		if next := acquire(t, s, "again", "h", time.Hour); next.Token <= old.Token {
			t.Errorf("token %d after %d", next.Token, old.Token)
		} else if _, err := s.Release(t.Context(), leasehold.ReleaseRequest{ID: next.ID, Resource: "again"}); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d grants kept", len(granted))
	if len(granted) == 0 {
		t.Error("nothing was granted before a kill")
	}
}

// A waiter is woken by another program though the connection was lost meanwhile.
func TestWaiterOutlivesItsConnection(t *testing.T) {
	server := testserver.Surreal(t)
	network := testserver.Proxy(t, server.Addr)
	waiting := openOn(t, network.Addr, Options{Database: "waiter"})
	other := openOn(t, server.Addr, Options{Database: "waiter"})
	network.Cut()
	network.Heal()
	if _, err := waiting.Status(t.Context(), "r"); err != nil {
		_, err = waiting.Status(t.Context(), "r") // the first may have met the broken connection
		must(t, err)
	}
	handOver(t, other, waiting)
}
