package redis

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/powers"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/storetest"
	"github.com/redis/go-redis/v9"
)

// lacking is what the store cannot do, and with it what builds on that.
var lacking = powers.Lacks[storetest.Capability](powers.KindRedis)

// prefixes gives every store of a test keys of its own on one server.
type prefixes struct{ last atomic.Int64 }

func (p *prefixes) next() string { return fmt.Sprintf("t%d:", p.last.Add(1)) }

// newClient returns a client that ends with the test.
func newClient(t testing.TB, addr string) *redis.Client {
	client := redis.NewClient(&redis.Options{Addr: addr, PoolSize: 100, DisableIdentity: true})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func openOn(t testing.TB, client redis.UniversalClient, o *Options) *Store {
	t.Helper()
	s, err := New(client, o)
	if err != nil {
		t.Fatalf("New = %v, want a store", err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// conform runs the suite with stores on one client.
func conform(t *testing.T, client redis.UniversalClient, o Options, lacks ...storetest.Capability) {
	var names prefixes
	open := func(t testing.TB, prefix string) leasehold.Store {
		mine := o
		mine.KeyPrefix = prefix
		return openOn(t, client, &mine)
	}
	storetest.Run(t, storetest.Harness{
		Parallel: true,
		Open:     func(t testing.TB) leasehold.Store { return open(t, names.next()) },
		Reopen: func(t testing.TB, old leasehold.Store) leasehold.Store {
			if err := old.Close(); err != nil {
				t.Fatalf("Close() = %v", err)
			}
			return open(t, old.(*Store).keys.prefix)
		},
		Queued:  func(s leasehold.Store, resource string) int { return s.(*Store).Waiting(resource) },
		Without: append(lacks, lacking...),
	})
}

func TestConformance(t *testing.T) {
	conform(t, newClient(t, testserver.Redis(t).Addr), Options{})
}

func TestConformanceWithoutHistory(t *testing.T) {
	conform(t, newClient(t, testserver.Redis(t).Addr), Options{NoHistory: true}, storetest.History)
}
