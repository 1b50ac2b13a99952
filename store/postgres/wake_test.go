package postgres

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/storetest"
	"github.com/leasehold/leasehold/test/process"
)

func acquire(t testing.TB, s *Store, resource, holder string, ttl time.Duration) leasehold.Grant {
	t.Helper()
	g, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: resource, Holder: holder, TTL: ttl})
	if err != nil {
		t.Fatalf("Acquire(%q) = %v, want a grant", resource, err)
	}
	return g
}

func release(t testing.TB, s *Store, l leasehold.Lease) {
	t.Helper()
	if _, err := s.Release(t.Context(), leasehold.ReleaseRequest{ID: l.ID, Resource: l.Resource}); err != nil {
		t.Fatalf("Release(%q) = %v, want success", l.Resource, err)
	}
}

// pair opens two stores on one schema, as two servers do.
func pair(t testing.TB) (a, b *Store) {
	t.Helper()
	o := &Options{Schema: newSchema()}
	return openOn(t, newPool(t, server(t).Addr), o), openOn(t, newPool(t, server(t).Addr), o)
}

// waiting reads until when somebody waits for a resource, as a release sees it.
func waiting(t testing.TB, s *Store, resource string) bool {
	t.Helper()
	f, err := s.db.found(t.Context(), s.db.pool, "read", resource)
	must(t, err)
	return f.Waiting > f.Now.Clock
}

// A waiter on one server is woken by a release on another, and by a break and a
// force-release, long before it looks by itself.
func TestWokenByAnotherServer(t *testing.T) {
	for what, free := range map[string]func(a *Store, g leasehold.Grant) error{
		"release": nil,
		"break": func(a *Store, g leasehold.Grant) error {
			_, err := a.Break(t.Context(), leasehold.BreakRequest{Resource: g.Resource})
			return err
		},
		"force-release": func(a *Store, g leasehold.Grant) error {
			_, err := a.ReleaseHolder(t.Context(), g.Holder, "test")
			return err
		},
	} {
		t.Run(what, func(t *testing.T) {
			a, b := pair(t)
			h := storetest.HandOver{Holding: a, Waiting: b, Noted: func(resource string) bool { return waiting(t, a, resource) }}
			if free != nil {
				h.Free = func(g leasehold.Grant) error { return free(a, g) }
			}
			h.Check(t, 5)
		})
	}
}

// Where nobody waits nothing is notified: NOTIFY makes commits wait for each other.
func TestNotifiesOnlyWhereSomebodyWaits(t *testing.T) {
	a := openShared(t)
	conn, err := pgx.Connect(t.Context(), testserver.PostgresURL(server(t).Addr, "postgres"))
	must(t, err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(t.Context(), "LISTEN "+a.db.channel)
	must(t, err)
	quiet := acquire(t, a, "quiet", "h", time.Minute)
	release(t, a, quiet.Lease)
	g := acquire(t, a, "r", "h", time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	var waiter sync.WaitGroup
	waiter.Go(func() {
		_, _ = a.Wait(ctx, leasehold.AcquireRequest{Resource: "r", Holder: "w", TTL: time.Minute, Timeout: time.Minute})
	})
	process.Eventually(t, "the waiter has left its note", func() bool { return waiting(t, a, "r") })
	release(t, a, g.Lease)
	n, err := conn.WaitForNotification(t.Context())
	must(t, err)
	if n.Payload != "r" {
		t.Errorf("the first notice is of %q, want r: nobody waited for another", n.Payload)
	}
	cancel()
	waiter.Wait()
}

// A thousand competitors with ten stores get one lease.
func TestThousandCompetitors(t *testing.T) {
	o := &Options{Schema: newSchema(), Timeout: time.Minute} // a busy machine is no outage
	pool := newPool(t, server(t).Addr)
	var stores []leasehold.Store
	for range 10 {
		stores = append(stores, openOn(t, pool, o))
	}
	storetest.Compete(t, stores...)
}
