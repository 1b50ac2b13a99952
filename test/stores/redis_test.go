package stores_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/powers"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/server/api"
	"github.com/leasehold/leasehold/server/auth"
	"github.com/leasehold/leasehold/store/chaos"
	leaseredis "github.com/leasehold/leasehold/store/redis"
	"github.com/leasehold/leasehold/store/remote"
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

// behind knows which store stands behind another.
type behind struct{ stores sync.Map }

func (b *behind) add(front leasehold.Store, inner *leaseredis.Store) leasehold.Store {
	b.stores.Store(front, inner)
	return front
}

func (b *behind) waiting(front leasehold.Store, resource string) int {
	inner, _ := b.stores.Load(front)
	return inner.(*leaseredis.Store).Waiting(resource)
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
	var behind behind
	storetest.Run(t, storetest.Harness{
		Parallel: true,
		Open: func(t testing.TB) leasehold.Store {
			inner := stores.open(t)
			return behind.add(connect(t, serve(t, inner).URL), inner)
		},
		Queued: behind.waiting,
		// A client leaves a wait by one with the same id that times out.
		Without: append([]storetest.Capability{storetest.HealthNames, storetest.CancelRecords}, withoutRedis...),
	})
}

// serve serves the JSON API on a store, for a caller that may do anything.
func serve(t testing.TB, s leasehold.Store) *httptest.Server {
	a := api.New(s, nil)
	handler := a.Handler()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r.WithContext(auth.With(r.Context(), auth.Local)))
	}))
	t.Cleanup(server.Close)
	t.Cleanup(a.Drain)
	return server
}

func connect(t testing.TB, url string) *remote.Store {
	s, err := remote.Open(url, nil)
	if err != nil {
		t.Fatalf("Open(%q) = %v, want success", url, err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}
