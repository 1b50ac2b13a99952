//go:build unix

package stores_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/store/remote"
	"github.com/leasehold/leasehold/test/process"
)

// Several processes of the built program on one store are one service.

// served are the stores that several servers can serve: how their server is started,
// and their URL at an address in front of it.
var served = []struct {
	name  string
	start func(t testserver.T, args ...string) *testserver.Server
	url   func(addr string) string

	masked bool // clients do not send in clear, so only the wake-up itself shows
}{
	{"redis", testserver.Redis, func(addr string) string { return "redis://" + addr }, false},
	{"postgres", testserver.Postgres, func(addr string) string { return testserver.PostgresURL(addr, "postgres") }, false},
	{"etcd", testserver.Etcd, func(addr string) string { return "etcd://" + addr }, false},
	{"surreal", testserver.Surreal, func(addr string) string { return "surreal://" + addr }, true},
}

func TestServers(t *testing.T) {
	for _, s := range served {
		t.Run(s.name, func(t *testing.T) {
			t.Run("Wake", func(t *testing.T) {
				tap := startTap(t, s.start(t).Addr)
				tap.masked = s.masked
				checkWakes(t, startService(t, s.url(tap.addr), 3), tap)
			})
			t.Run("Die", func(t *testing.T) {
				checkDies(t, startService(t, s.url(s.start(t).Addr), 3))
			})
		})
	}
}

// checkWakes: a release on one server wakes a waiter on another, by a notice and not
// by looking again and again.
func checkWakes(t *testing.T, service *service, tap *tap) {
	var took []time.Duration
	late := 0
	for i := range 9 {
		server := (i + 1) % 3
		holding, waiting := service.connect(t, i%3), service.connect(t, server)
		request := leasehold.AcquireRequest{Resource: fmt.Sprintf("woken-resource-%d", i), Holder: "h", TTL: time.Minute}
		g, err := holding.Acquire(t.Context(), request)
		if err != nil {
			t.Fatalf("Acquire = %v, want a grant", err)
		}
		tried := tap.mentions(g.Resource)
		if tried == 0 && !tap.masked {
			t.Fatalf("nothing that was sent names the resource %s", g.Resource)
		}
		granted := make(chan error, 1)
		request.Holder, request.Timeout = "w", time.Minute
		began := time.Now()
		go func() {
			_, err := waiting.Wait(context.WithoutCancel(t.Context()), request)
			granted <- err
		}()
		process.Eventually(t, "the waiter has tried", func() bool {
			return service.waiters(t, server) == 1 && (tap.masked || tap.mentions(g.Resource) > tried)
		})
		// It may try again when it has subscribed, and it looks every 5 s.
		process.Eventually(t, "the waiter does not look again", func() bool { return tap.quiet(g.Resource, time.Second/2) })
		start := time.Now()
		if _, err := holding.Release(t.Context(), leasehold.ReleaseRequest{ID: g.ID, Resource: g.Resource}); err != nil {
			t.Fatalf("Release = %v, want success", err)
		}
		if err := <-granted; err != nil {
			t.Fatalf("Wait = %v, want a grant", err)
		}
		took = append(took, time.Since(start))
		if time.Since(began) >= 4*time.Second { // when a look may come
			late++
		}
	}
	slices.Sort(took)
	middle := took[len(took)/2]
	t.Logf("woken after %v in the middle, %v at most; %d so late that it may have been a look", middle, took[len(took)-1], late)
	if middle > 100*time.Millisecond { // the slowest depends on what else the machine does
		t.Errorf("waiters were woken after %v in the middle, want 100 ms at most", middle)
	}
	if 2*late > len(took) { // not any: a busy machine may be slower than a look
		t.Errorf("%d of %d waiters were woken no sooner than by their own look, want them woken by a release on another server", late, len(took))
	}
}

// checkDies: when one of three servers is killed in the middle of its work, its
// waiters reconnect to another one. Every waiter gets the lease once, and never two
// at a time.
func checkDies(t *testing.T, service *service) {
	first := service.connect(t, 0)
	holder, err := first.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "first", TTL: time.Minute})
	if err != nil {
		t.Fatalf("Acquire = %v, want a grant", err)
	}
	held := holdAt(t, service.connect(t, 1))
	const waiters = 30
	var mu sync.Mutex
	var tokens []uint64
	var inside, grants atomic.Int32
	var all sync.WaitGroup
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
			grants.Add(1)
			inside.Add(-1)
			releaseSurely(t, client, g.Lease)
		})
	}
	process.Eventually(t, "all wait", func() bool {
		return service.waiters(t, 0)+service.waiters(t, 1)+service.waiters(t, 2) == waiters
	})
	releaseSurely(t, first, holder.Lease)
	process.Eventually(t, "some have had it", func() bool { return grants.Load() >= 3 })
	service.servers[1].Signal(syscall.SIGKILL)
	all.Wait()
	service.servers[1].CheckCode(-int(syscall.SIGKILL))
	checkHeld(t, first, held)
	if len(tokens) != waiters || !slices.IsSorted(tokens) || len(slices.Compact(slices.Clone(tokens))) != waiters {
		t.Errorf("%d grants with tokens %v, want %d that grow", len(tokens), tokens, waiters)
	}
	if status, err := first.Status(t.Context(), "r"); err != nil || status.Locked() {
		t.Errorf("Status = %+v, %v; want it free in the end", status, err)
	}
	if service.moved.Load() == 0 {
		t.Error("no connection has moved to another server: it was killed too late")
	}
	t.Logf("%d connections moved to another server", service.moved.Load())
}

// holdAt acquires leases that outlive the test.
func holdAt(t *testing.T, s *remote.Store) (held []leasehold.Grant) {
	t.Helper()
	for i := range 10 {
		g, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: fmt.Sprintf("held-%d", i), Holder: "h", TTL: 10 * time.Minute})
		if err != nil {
			t.Fatalf("Acquire = %v, want a grant", err)
		}
		held = append(held, g)
	}
	return held
}

// checkHeld: the leases are there, with their ids, and nobody else gets one.
func checkHeld(t *testing.T, s *remote.Store, held []leasehold.Grant) {
	t.Helper()
	for _, g := range held {
		if _, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: g.Resource, Holder: "other"}); !errors.Is(err, leasehold.ErrHeld) {
			t.Errorf("Acquire of %s = %v, want ErrHeld", g.Resource, err)
		}
		if l, err := s.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID}); err != nil || l.Token != g.Token {
			t.Errorf("Renew of %s = token %d, %v; want %d", g.Resource, l.Token, err, g.Token)
		}
	}
}
