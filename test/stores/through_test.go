package stores_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/powers"
	"github.com/leasehold/leasehold/server/api"
	"github.com/leasehold/leasehold/server/auth"
	"github.com/leasehold/leasehold/store/remote"
	"github.com/leasehold/leasehold/storetest"
)

// runThroughServer runs the suite on clients of servers on stores.
func runThroughServer(t *testing.T, h storetest.Harness, open func(t testing.TB) leasehold.Store) {
	var behind behind
	h.Parallel = true
	h.Open = func(t testing.TB) leasehold.Store {
		inner := open(t)
		return behind.add(connect(t, serve(t, inner).URL), inner)
	}
	h.Queued = behind.waiting
	h.Without = append(powers.Lacks[storetest.Capability](powers.KindServer), h.Without...)
	storetest.Run(t, h)
}

// behind knows which store stands behind another.
type behind struct{ stores sync.Map }

func (b *behind) add(front, inner leasehold.Store) leasehold.Store {
	b.stores.Store(front, inner)
	return front
}

// waiting is how many wait for a resource in this process.
func (b *behind) waiting(front leasehold.Store, resource string) int {
	inner, _ := b.stores.Load(front)
	if s, ok := inner.(interface{ Waiting(resource string) int }); ok {
		return s.Waiting(resource)
	}
	status, _ := inner.(leasehold.Store).Status(context.Background(), resource)
	return len(status.Waiters)
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
