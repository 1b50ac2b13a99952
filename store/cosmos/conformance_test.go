package cosmos_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/powers"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/store/cas"
	"github.com/leasehold/leasehold/store/chaos"
	"github.com/leasehold/leasehold/store/cosmos"
	"github.com/leasehold/leasehold/storetest"
)

// lacks is what Cosmos cannot do. The queue is of one process: priorities hold
// there, and places are not kept.
var lacks = powers.Lacks[storetest.Capability](powers.KindCosmos)

var containers atomic.Int32

// open opens a store in a container of its own.
func open(t testing.TB, o cosmos.Options) *cas.Store {
	t.Helper()
	if o.Container == "" {
		o.Container = fmt.Sprint("leases-", containers.Add(1))
	}
	s, err := cosmos.Open(t.Context(), &o)
	if err != nil {
		t.Fatalf("Open = %v, want a store", err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestConformance(t *testing.T) {
	server := testserver.Cosmos(t)
	for _, partition := range []cosmos.Partition{cosmos.ByResource, cosmos.ByTenant} {
		t.Run(string(partition), func(t *testing.T) {
			options := cosmos.Options{ConnectionString: testserver.CosmosConnection(server.Addr), Partition: partition, Timeout: 30 * time.Second}
			var mu sync.Mutex
			used := map[leasehold.Store]string{}
			queues := map[leasehold.Store]*cas.Store{}
			openIn := func(t testing.TB, container string) leasehold.Store {
				o := options
				o.Container = container
				queue := open(t, o)
				s := leasehold.Store(queue)
				if partition == cosmos.ByTenant { // and through a wrapper without faults
					s = chaos.Wrap(s, nil)
				}
				mu.Lock()
				defer mu.Unlock()
				used[s], queues[s] = container, queue
				return s
			}
			storetest.Run(t, storetest.Harness{
				Open: func(t testing.TB) leasehold.Store {
					return openIn(t, fmt.Sprint("leases-", containers.Add(1)))
				},
				Reopen: func(t testing.TB, old leasehold.Store) leasehold.Store {
					_ = old.Close()
					mu.Lock()
					container := used[old]
					mu.Unlock()
					return openIn(t, container)
				},
				Parallel: true,
				Slack:    2500 * time.Millisecond, // the clock counts whole seconds
				Queued: func(s leasehold.Store, resource string) int {
					mu.Lock()
					defer mu.Unlock()
					return queues[s].Waiting(resource)
				},
				Without: lacks,
			})
		})
	}
}
