package stores_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/powers"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/store/chaos"
	leaseredis "github.com/leasehold/leasehold/store/redis"
	"github.com/leasehold/leasehold/storetest"
	"github.com/redis/go-redis/v9"
)

// withoutRedis is what a store on Redis cannot do.
var withoutRedis = powers.Lacks[storetest.Capability](powers.KindRedis)

// redisStores opens stores on one server, each with keys of its own.
type redisStores struct {
	client *redis.Client
	last   atomic.Int64
}

func newRedisStores(t testing.TB) *redisStores {
	client := redis.NewClient(&redis.Options{Addr: testserver.Redis(t).Addr, PoolSize: 100, DisableIdentity: true})
	t.Cleanup(func() { _ = client.Close() })
	return &redisStores{client: client}
}

func (r *redisStores) open(t testing.TB) *leaseredis.Store {
	return r.openWith(t, fmt.Sprintf("t%d:", r.last.Add(1)))
}

func (r *redisStores) openWith(t testing.TB, prefix string) *leaseredis.Store {
	s, err := leaseredis.New(r.client, &leaseredis.Options{KeyPrefix: prefix})
	if err != nil {
		t.Fatalf("New = %v, want a store", err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// Without faults the wrapper is the store that it wraps.
func TestRedisThroughChaos(t *testing.T) {
	stores := newRedisStores(t)
	var behind behind
	storetest.Run(t, storetest.Harness{
		Parallel: true,
		Open: func(t testing.TB) leasehold.Store {
			inner := stores.open(t)
			return behind.add(chaos.Wrap(inner, nil), inner)
		},
		Queued:  behind.waiting,
		Without: withoutRedis,
	})
}

// The whole way: client, wire, server, Redis.
func TestRedisThroughServer(t *testing.T) {
	stores := newRedisStores(t)
	runThroughServer(t, storetest.Harness{Without: withoutRedis}, func(t testing.TB) leasehold.Store { return stores.open(t) })
}
