package remote_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/server/api"
	"github.com/leasehold/leasehold/server/auth"
	"github.com/leasehold/leasehold/store/memory"
	"github.com/leasehold/leasehold/store/remote"
	"github.com/leasehold/leasehold/storetest"
)

// open is what the client needs no error for.
func open(t testing.TB, url string, o *remote.Options) *remote.Store {
	t.Helper()
	s, err := remote.Open(url, o)
	if err != nil {
		t.Fatalf("Open(%q) = %v, want success", url, err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// served is the API over an empty store, for a caller that may do anything.
func served(t testing.TB) http.Handler { return serving(t, inside(t)) }

func inside(t testing.TB) leasehold.Store {
	s := memory.New()
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func serving(t testing.TB, inside leasehold.Store) http.Handler {
	door := api.New(inside, nil)
	t.Cleanup(door.Drain)
	handler := door.Handler()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r.WithContext(auth.With(r.Context(), auth.Local)))
	})
}

// overPipes serves a handler on a network inside the process.
func overPipes(t testing.TB, h http.Handler) *remote.Store {
	network := newPipes()
	server := &http.Server{Handler: h}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		_ = server.Serve(network) // always ends with ErrServerClosed
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-stopped
	})
	return open(t, "http://pipe", &remote.Options{Dial: network.dial})
}

// notHere is what the API does not do: the names of health checks are the
// server's own.
var notHere = []storetest.Capability{storetest.HealthNames}

// The whole contract, with a wire in between.
func TestConformance(t *testing.T) {
	storetest.Run(t, storetest.Harness{
		Bubble:  true,
		Open:    func(t testing.TB) leasehold.Store { return overPipes(t, served(t)) },
		Without: notHere,
	})
}

// The same over TCP, in real time. It runs by itself: what takes real time takes
// more of it on a busy machine.
func TestConformanceTCP(t *testing.T) {
	storetest.Run(t, storetest.Harness{
		Parallel: true,
		Open: func(t testing.TB) leasehold.Store {
			server := httptest.NewServer(served(t))
			t.Cleanup(server.Close)
			return open(t, server.URL, nil)
		},
		Without: notHere,
	})
}
