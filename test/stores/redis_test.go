package stores_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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
		Queued:  behind.waiting,
		Without: append([]storetest.Capability{storetest.HealthNames}, withoutRedis...),
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

// scriptCalls is how many scripts the server has run.
func scriptCalls(t testing.TB, client *redis.Client) int {
	t.Helper()
	for line := range strings.Lines(client.Info(t.Context(), "commandstats").Val()) {
		if rest, ok := strings.CutPrefix(line, "cmdstat_evalsha:calls="); ok {
			n, _ := strconv.Atoi(rest[:strings.IndexByte(rest, ',')])
			return n
		}
	}
	return 0
}

// Three servers on one Redis are one service: a release on one wakes a waiter on
// another, by a notice and not by looking again and again.
func TestRedisWakesAcrossServers(t *testing.T) {
	stores := newRedisStores(t)
	var servers []*remote.Store
	for range 3 {
		servers = append(servers, connect(t, serve(t, stores.openWith(t, "app:")).URL))
	}
	var took []time.Duration
	for i := range 9 {
		holding, waiting := servers[i%3], servers[(i+1)%3]
		request := leasehold.AcquireRequest{Resource: fmt.Sprint("r", i), Holder: "h", TTL: time.Minute}
		g, err := holding.Acquire(t.Context(), request)
		if err != nil {
			t.Fatalf("Acquire = %v, want a grant", err)
		}
		granted := make(chan error, 1)
		request.Holder, request.Timeout = "w", 30*time.Second
		before := scriptCalls(t, stores.client)
		go func() {
			_, err := waiting.Wait(context.WithoutCancel(t.Context()), request)
			granted <- err
		}()
		eventually(t, "the waiter has tried", func() bool { return scriptCalls(t, stores.client) > before })
		time.Sleep(200 * time.Millisecond) // in which it must not look again
		if n := scriptCalls(t, stores.client) - before; n > 2 {
			t.Errorf("a waiter ran %d scripts, want it to wait without looking", n)
		}
		start := time.Now()
		if _, err := holding.Release(t.Context(), leasehold.ReleaseRequest{ID: g.ID, Resource: g.Resource}); err != nil {
			t.Fatalf("Release = %v, want success", err)
		}
		if err := <-granted; err != nil {
			t.Fatalf("Wait = %v, want a grant", err)
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	t.Logf("woken after %v in the middle, %v at most", took[len(took)/2], took[len(took)-1])
	if took[len(took)-1] > 2*time.Second {
		t.Errorf("a release on one server woke a waiter on another after %v, want it by a notice", took[len(took)-1])
	}
}

func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !cond(); {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
		time.Sleep(5 * time.Millisecond) // another process says nothing by itself
	}
}

// service is the address of several servers: a client that cannot reach one gets
// the next.
type service struct {
	servers []*httptest.Server
	moved   atomic.Int32
}

// connect returns a client that prefers one of the servers.
func (s *service) connect(t testing.TB, first int) *remote.Store {
	client, err := remote.Open("http://service", &remote.Options{Dial: func(ctx context.Context, network, _ string) (conn net.Conn, err error) {
		for i := range s.servers {
			server := s.servers[(first+i)%len(s.servers)]
			if conn, err = new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String()); err == nil {
				if i > 0 {
					s.moved.Add(1)
				}
				return conn, nil
			}
		}
		return nil, err
	}})
	if err != nil {
		t.Fatalf("Open = %v, want success", err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// When one of three servers dies, its waiters reconnect to another one and wait
// on. Every waiter gets the lease once, and never two at a time.
func TestRedisServerDies(t *testing.T) {
	stores := newRedisStores(t)
	var service service
	for range 3 {
		service.servers = append(service.servers, serve(t, stores.openWith(t, "app:")))
	}
	first := service.connect(t, 0)
	holder, err := first.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "first", TTL: time.Minute})
	if err != nil {
		t.Fatalf("Acquire = %v, want a grant", err)
	}
	const waiters = 30
	var mu sync.Mutex
	var tokens []uint64
	var inside atomic.Int32
	var all sync.WaitGroup
	before := scriptCalls(t, stores.client)
	for i := range waiters {
		client := service.connect(t, i%3)
		all.Go(func() {
			r := leasehold.AcquireRequest{Resource: "r", Holder: fmt.Sprint("w", i), ID: leasehold.NewID(), TTL: time.Minute, Timeout: time.Minute}
			g, err := client.Wait(t.Context(), r)
			if err != nil {
				t.Errorf("Wait = %v, want a grant", err)
				return
			}
			if n := inside.Add(1); n != 1 {
				t.Errorf("%d holders at the same time", n)
			}
			mu.Lock()
			tokens = append(tokens, g.Token)
			mu.Unlock()
			inside.Add(-1)
			if _, err := client.Release(t.Context(), leasehold.ReleaseRequest{ID: g.ID, Resource: "r"}); err != nil {
				t.Errorf("Release = %v, want success", err)
			}
		})
	}
	// Each tries once as it joins, because of its id.
	eventually(t, "all wait", func() bool { return scriptCalls(t, stores.client)-before >= waiters })
	_ = service.servers[1].Listener.Close() // as if it were killed: connections break, nothing is said
	service.servers[1].CloseClientConnections()
	eventually(t, "its waiters have moved", func() bool { return service.moved.Load() >= waiters/3 })
	if _, err := first.Release(t.Context(), leasehold.ReleaseRequest{ID: holder.ID, Resource: "r"}); err != nil {
		t.Fatalf("Release = %v, want success", err)
	}
	all.Wait()
	if len(tokens) != waiters || !slices.IsSorted(tokens) || len(slices.Compact(slices.Clone(tokens))) != waiters {
		t.Errorf("%d grants with tokens %v, want %d that grow", len(tokens), tokens, waiters)
	}
	if status, err := first.Status(t.Context(), "r"); err != nil || status.Locked() {
		t.Errorf("Status = %+v, %v; want it free in the end", status, err)
	}
	t.Logf("%d connections moved to another server", service.moved.Load())
}
