package remote_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/pipenet"
	"github.com/leasehold/leasehold/internal/powers"
	"github.com/leasehold/leasehold/internal/soak"
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
	a := api.New(inside, nil)
	t.Cleanup(a.Drain)
	handler := a.Handler()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r.WithContext(auth.With(r.Context(), auth.Local)))
	})
}

// overPipes serves a handler on a network inside the process.
func overPipes(t testing.TB, h http.Handler) *remote.Store {
	return open(t, "http://pipe", &remote.Options{Dial: onPipes(t, h).Dial})
}

// byClient is overPipes with a client of the caller's.
func byClient(t testing.TB, h http.Handler) *remote.Store {
	return open(t, "http://pipe", &remote.Options{HTTPClient: client(t, onPipes(t, h).Dial)})
}

// client is one of the caller's, who closes it.
func client(t testing.TB, dial func(ctx context.Context, network, address string) (net.Conn, error)) *http.Client {
	transport := &http.Transport{DialContext: dial, MaxIdleConnsPerHost: 256}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func onPipes(t testing.TB, h http.Handler) *pipenet.Listener {
	network := pipenet.Listen()
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
	return network
}

// notHere is what the API does not do: the names of health checks are the
// server's own. And a wait is left by taking its place over, which is another
// wait, with a record of its own.
var notHere = powers.Lacks[storetest.Capability](powers.KindServer)

// The whole contract, with a wire in between.
func TestConformance(t *testing.T) {
	storetest.Run(t, storetest.Harness{
		Bubble:  true,
		Open:    func(t testing.TB) leasehold.Store { return overPipes(t, served(t)) },
		Without: notHere,
	})
}

// The same with a client of the caller's.
func TestConformanceHTTPClient(t *testing.T) {
	if !soak.Long() {
		t.Skip("runs in make soak; TestConformance has the same calls, transport_test.go the client")
	}
	storetest.Run(t, storetest.Harness{
		Bubble:  true,
		Open:    func(t testing.TB) leasehold.Store { return byClient(t, served(t)) },
		Without: notHere,
	})
}

// The same over TCP, in real time, which a busy machine stretches: these run in make soak.

func TestConformanceTCP(t *testing.T) {
	if !soak.Long() {
		t.Skip("runs in make soak; TestConformance has the same calls over another network")
	}
	overTCP(t, func(t testing.TB) *remote.Options { return nil })
}

func TestConformanceTCPHTTPClient(t *testing.T) {
	if !soak.Long() {
		t.Skip("runs in make soak; TestConformanceHTTPClient has the same client over another network")
	}
	overTCP(t, func(t testing.TB) *remote.Options { return &remote.Options{HTTPClient: client(t, nil)} })
}

func overTCP(t *testing.T, o func(testing.TB) *remote.Options) {
	storetest.Run(t, storetest.Harness{
		Parallel: true,
		Open: func(t testing.TB) leasehold.Store {
			server := httptest.NewServer(served(t))
			t.Cleanup(server.Close)
			return open(t, server.URL, o(t))
		},
		Without: notHere,
	})
}
