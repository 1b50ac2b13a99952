package remote_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/pipenet"
	"github.com/leasehold/leasehold/store/remote"
	"github.com/leasehold/leasehold/wire"
)

func renewed(w http.ResponseWriter, r *http.Request) {
	answer(w, http.StatusOK, wire.FromLease(lease()))
}

func renew(ctx context.Context, s *remote.Store) error {
	_, err := s.Renew(ctx, leasehold.RenewRequest{ID: leasehold.NewID()})
	return err
}

// counted counts the connections that a server gets.
func counted(h http.HandlerFunc) (*httptest.Server, *atomic.Int32) {
	var conns atomic.Int32
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = quiet
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns.Add(1)
		}
	}
	return s, &conns
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	both(t, func(t *testing.T, o func() *remote.Options) {
		server, conns := counted(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusEarlyHints) // to be passed over
			renewed(w, r)
		})
		server.Start()
		defer server.Close()
		s := open(t, server.URL, o())
		for range 20 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			if err := renew(ctx, s); err != nil {
				t.Fatalf("Renew = %v, want success", err)
			}
			cancel()
		}
		if n := conns.Load(); n != 1 {
			t.Errorf("20 requests took %d connections, want 1", n)
		}
	})
}

func TestIdleConnectionsAreLimited(t *testing.T) {
	all := make(chan struct{})
	var arrived atomic.Int32
	server, conns := counted(func(w http.ResponseWriter, r *http.Request) {
		if arrived.Add(1) == 8 {
			close(all)
		}
		<-all
		answer(w, http.StatusOK, wire.Resource{Resource: "r"})
	})
	server.Start()
	defer server.Close()
	s := open(t, server.URL, &remote.Options{IdleConns: 3, Timeout: -1})
	burst := func() {
		var running sync.WaitGroup
		for range 8 {
			running.Go(func() {
				if _, err := s.Status(t.Context(), "r"); err != nil {
					t.Errorf("Status = %v, want success", err)
				}
			})
		}
		running.Wait()
	}
	burst()
	arrived.Store(0)
	all = make(chan struct{})
	burst()
	if n := conns.Load(); n != 8+5 {
		t.Errorf("two bursts of 8 took %d connections, want 3 of them used twice", n)
	}
}

// A server that closes idle connections, by a restart say, costs nobody a
// write whose outcome is unknown.
func TestClosedConnectionsAreNotUsed(t *testing.T) {
	server, conns := counted(renewed)
	server.Start()
	defer server.Close()
	s := open(t, server.URL, nil)
	for range 5 {
		if err := renew(t.Context(), s); err != nil {
			t.Fatalf("Renew = %v, want success", err)
		}
		server.CloseClientConnections()
		time.Sleep(20 * time.Millisecond) // real sockets: the end must arrive here
	}
	if n := conns.Load(); n != 5 {
		t.Errorf("5 requests took %d connections, want 5", n)
	}
}

// A connection that turns out to be dead while it is used is replaced for
// reads; a write says that its outcome is unknown.
func TestConnectionsThatDieInUse(t *testing.T) {
	dies := func(conn net.Conn) {
		buffer := make([]byte, 4096)
		_, _ = conn.Read(buffer)
		fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(free), free)
		_, _ = conn.Read(buffer)
	}
	s := open(t, scripted(t, dies, dies, reading("")), nil)
	for range 2 { // the second on the dead connection, and again on a new one
		if _, err := s.Status(t.Context(), "r"); err != nil {
			t.Errorf("Status = %v, want an answer", err)
		}
	}
	typed(t, "Renew", renew(t.Context(), s), leasehold.ReasonUnknown)
}

const free = `{"resource":"r","locked":false,"lease":null,"waiters":[]}`

func errOf[T any](_ T, err error) error { return err }

// A connection that ends while the answer is awaited is none of net/http's reasons
// to send a change again. Reads are sent again, also those with a body.
func TestNothingIsSentTwice(t *testing.T) {
	id := leasehold.NewID()
	calls := map[string]func(ctx context.Context, s *remote.Store) error{
		"/v1/leases/acquire": func(ctx context.Context, s *remote.Store) error {
			return errOf(s.Acquire(ctx, request()))
		},
		"/v1/leases/renew": renew,
		"/v1/leases/release": func(ctx context.Context, s *remote.Store) error {
			return errOf(s.Release(ctx, leasehold.ReleaseRequest{ID: id}))
		},
		"/v1/leases/change": func(ctx context.Context, s *remote.Store) error {
			return errOf(s.Change(ctx, leasehold.ChangeRequest{ID: id, Proposed: leasehold.NewID()}))
		},
		"/v1/leases/transfer": func(ctx context.Context, s *remote.Store) error {
			return errOf(s.Transfer(ctx, leasehold.TransferRequest{ID: id, To: "x"}))
		},
		"/v1/leases/break": func(ctx context.Context, s *remote.Store) error {
			return errOf(s.Break(ctx, leasehold.BreakRequest{Resource: "r"}))
		},
		"/v1/leases/cleanup":    func(ctx context.Context, s *remote.Store) error { return errOf(s.Cleanup(ctx)) },
		"/v1/holders/h/release": func(ctx context.Context, s *remote.Store) error { return errOf(s.ReleaseHolder(ctx, "h", "")) },
		"/v1/config/keep_history": func(ctx context.Context, s *remote.Store) error {
			return errOf(s.SetSetting(ctx, "keep_history", true))
		},
	}
	both(t, func(t *testing.T, o func() *remote.Options) {
		for path, call := range calls {
			var arrived atomic.Int32
			s := server(t, o(), func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				switch r.URL.Path {
				case "/v1/resource":
					answer(w, http.StatusOK, wire.Resource{Resource: "r"})
				case "/v1/leases/get":
					if arrived.Add(1)%2 == 1 {
						sever(w)
					}
					renewed(w, r)
				case path:
					arrived.Add(1)
					fallthrough
				default:
					sever(w)
				}
			})
			if _, err := s.Status(t.Context(), "r"); err != nil { // leaves a connection
				t.Fatalf("Status = %v, want an answer", err)
			}
			typed(t, path, call(t.Context(), s), leasehold.ReasonUnknown)
			if n := arrived.Swap(0); n != 1 {
				t.Errorf("%s arrived %d times, want once", path, n)
			}
			_, _ = s.Status(t.Context(), "r")
			if _, err := s.Find(t.Context(), id); err != nil || arrived.Load() != 2 {
				t.Errorf("Find = %v after %d requests, want an answer to the second", err, arrived.Load())
			}
		}
	})
}

// Connections that nobody needed for a while are closed by the way.
func TestOldConnectionsAreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var open atomic.Int32
		network := pipenet.Listen()
		gate := make(chan struct{})
		server := &http.Server{
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { <-gate; renewed(w, r) }),
			ConnState: func(_ net.Conn, state http.ConnState) {
				switch state {
				case http.StateNew:
					open.Add(1)
				case http.StateClosed:
					open.Add(-1)
				}
			},
		}
		var running sync.WaitGroup
		running.Go(func() { _ = server.Serve(network) })
		defer running.Wait()
		defer server.Close()
		s, _ := remote.Open("http://pipe", &remote.Options{Dial: network.Dial})
		defer s.Close()
		for range 10 {
			running.Go(func() {
				if _, err := s.Find(t.Context(), leasehold.NewID()); err != nil {
					t.Errorf("Find = %v, want success", err)
				}
			})
		}
		synctest.Wait()
		close(gate)
		for range 20 {
			time.Sleep(30 * time.Second)
			if err := renew(t.Context(), s); err != nil {
				t.Fatalf("Renew = %v, want success", err)
			}
		}
		synctest.Wait()
		if n := open.Load(); n != 1 {
			t.Errorf("%d connections are open after ten quiet minutes, want the one in use", n)
		}
	})
}

func TestTLS(t *testing.T) {
	server, _ := counted(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 1 {
			t.Errorf("the server was asked with %s, want HTTP/1.1", r.Proto)
		}
		renewed(w, r)
	})
	server.EnableHTTP2 = true // offered, and not taken
	server.StartTLS()
	defer server.Close()
	trust := server.Client().Transport.(*http.Transport).TLSClientConfig
	s := open(t, server.URL, &remote.Options{TLS: &tls.Config{RootCAs: trust.RootCAs}})
	for range 3 {
		if err := renew(t.Context(), s); err != nil {
			t.Fatalf("Renew = %v, want success", err)
		}
	}
}

// A caller that leaves before there is a connection knows that nothing happened,
// and nothing does when there is one.
func TestCallerLeavesWhileDialling(t *testing.T) {
	for name, own := range map[string]bool{"OwnConnections": true, "HTTPClient": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var requests atomic.Int32
				network := onPipes(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					requests.Add(1)
					renewed(w, r)
				}))
				gate := make(chan struct{})
				dial := func(ctx context.Context, n, address string) (net.Conn, error) {
					<-gate
					return network.Dial(ctx, n, address)
				}
				o := &remote.Options{Dial: dial}
				if !own {
					o = &remote.Options{HTTPClient: client(t, dial)}
				}
				s := open(t, "http://host", o)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				typed(t, "Renew", renew(ctx, s), leasehold.ReasonUnavailable)
				_, err := s.Wait(ctx, request())
				typed(t, "Wait", err, leasehold.ReasonCancelled)
				close(gate)
				time.Sleep(time.Minute)
				if n := requests.Load(); n != 0 {
					t.Errorf("the server got %d requests, want none", n)
				}
				if err := renew(t.Context(), s); err != nil || requests.Load() != 1 {
					t.Errorf("Renew = %v, and %d requests, want the only one", err, requests.Load())
				}
			})
		})
	}
}

// Closing while a connection is being made must not leave it open.
func TestCloseWhileDialling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dialling := make(chan struct{})
		ours, theirs := net.Pipe()
		defer theirs.Close()
		s := open(t, "http://host", &remote.Options{Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			close(dialling)
			<-ctx.Done()
			return ours, nil
		}})
		told := make(chan error, 1)
		go func() { told <- renew(t.Context(), s) }()
		<-dialling
		_ = s.Close()
		typed(t, "Renew", <-told, leasehold.ReasonUnavailable)
		if _, err := theirs.Read(make([]byte, 1)); err == nil {
			t.Error("the connection is open after Close")
		}
	})
}
