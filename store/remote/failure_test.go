package remote_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/remote"
	"github.com/leasehold/leasehold/wire"
)

// both runs a test with connections of our own and with a client of the
// caller's.
func both(t *testing.T, run func(t *testing.T, o func() *remote.Options)) {
	t.Run("OwnConnections", func(t *testing.T) {
		t.Parallel() // much of it is waiting
		run(t, func() *remote.Options { return new(remote.Options) })
	})
	t.Run("HTTPClient", func(t *testing.T) {
		t.Parallel()
		run(t, func() *remote.Options {
			return &remote.Options{HTTPClient: client(t, nil)}
		})
	})
}

// checkReasons expects the reasons of a read, a write and a wait that fail alike.
func checkReasons(t *testing.T, s *remote.Store, what string, read, write, wait leasehold.Reason) {
	t.Helper()
	_, err := s.Status(t.Context(), "r")
	typed(t, "Status: "+what, err, read)
	_, err = s.Renew(t.Context(), leasehold.RenewRequest{ID: leasehold.NewID(), Resource: "r"})
	if e := typed(t, "Renew: "+what, err, write); e.Op != "renew" || e.Resource != "r" || e.Cause == nil {
		t.Errorf("Renew: %s = %+v, want op, resource and cause", what, e)
	}
	_, err = s.Wait(t.Context(), request())
	typed(t, "Wait: "+what, err, wait)
}

func TestNoServer(t *testing.T) {
	both(t, func(t *testing.T, o func() *remote.Options) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		_ = l.Close()
		s := open(t, "http://"+l.Addr().String(), o())
		checkReasons(t, s, "connection refused", leasehold.ReasonUnavailable, leasehold.ReasonUnavailable, leasehold.ReasonUnavailable)

		_, err = open(t, "http://does-not-exist.invalid", o()).Status(t.Context(), "r")
		typed(t, "Status of an unknown host", err, leasehold.ReasonUnavailable)
	})
}

func TestWrongCertificate(t *testing.T) {
	both(t, func(t *testing.T, o func() *remote.Options) {
		server := httptest.NewUnstartedServer(http.NotFoundHandler())
		server.Config.ErrorLog = quiet
		server.StartTLS()
		defer server.Close()
		s := open(t, server.URL, o())
		checkReasons(t, s, "unknown authority", leasehold.ReasonUnavailable, leasehold.ReasonUnavailable, leasehold.ReasonUnavailable)
	})
}

// A server with TLS that is asked without it says so in plain text, which the error repeats.
func TestPlainAtTLS(t *testing.T) {
	both(t, func(t *testing.T, o func() *remote.Options) {
		server := httptest.NewUnstartedServer(http.NotFoundHandler())
		server.Config.ErrorLog = quiet
		server.StartTLS()
		defer server.Close()
		s := open(t, strings.Replace(server.URL, "https", "http", 1), o())
		_, err := s.Status(t.Context(), "r")
		if typed(t, "Status", err, leasehold.ReasonUnavailable); !strings.Contains(err.Error(), "speaks TLS; want https://") {
			t.Errorf("Status without TLS = %v, want the right scheme", err)
		}
	})
}

func TestNoAnswer(t *testing.T) {
	lost := []func(net.Conn){reading(""), reading(""), reading("")}
	half := reading("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"resource\":")
	nonsense := reading("I am no web server\r\n\r\n")
	both(t, func(t *testing.T, o func() *remote.Options) {
		for what, steps := range map[string][]func(net.Conn){
			"the connection broke":     lost,
			"the answer broke off":     {half, half, half},
			"the answer is not HTTP":   {nonsense, nonsense, nonsense},
			"the head broke off":       {reading("HTTP/1.1 200 OK\r\nContent-"), reading("HTTP/1.1 2"), reading("H")},
			"the answer is not JSON":   {reading(ok("<html>")), reading(ok("<html>")), reading(ok("<html>"))},
			"the answer makes nothing": {reading(ok(`{"lease":{}}`)), reading(ok("{}")), reading(ok("{}"))},
			"it switches protocols":    {reading("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"), reading("HTTP/1.1 101 Go\r\n\r\n"), reading("HTTP/1.1 101 Go\r\n\r\n")},
		} {
			t.Run(what, func(t *testing.T) {
				t.Parallel()
				s := open(t, scripted(t, steps...), o())
				checkReasons(t, s, what, leasehold.ReasonUnavailable, leasehold.ReasonUnknown, leasehold.ReasonUnknown)
			})
		}
	})
}

func ok(body string) string {
	return "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + body
}

func TestEndlessAnswers(t *testing.T) {
	endless := func(head string) func(net.Conn) {
		return func(conn net.Conn) {
			_, _ = conn.Read(make([]byte, 4096))
			_, _ = conn.Write([]byte(head))
			for line := []byte(strings.Repeat("X: y\r\n", 1000)); ; {
				if _, err := conn.Write(line); err != nil {
					return
				}
			}
		}
	}
	s := open(t, scripted(t, endless("HTTP/1.1 200 OK\r\n"), endless("HTTP/1.1 200 OK\r\n\r\n")), nil)
	for range 2 {
		_, err := s.Status(t.Context(), "r")
		typed(t, "Status with an endless answer", err, leasehold.ReasonUnavailable)
	}
}

func TestProxyAnswers(t *testing.T) {
	status := 0
	s := server(t, nil, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "/elsewhere")
		w.Header().Set("Retry-After", "3")
		http.Error(w, "<html>nginx</html>", status)
	})
	down, unknown := leasehold.ReasonUnavailable, leasehold.ReasonUnknown
	for _, c := range []struct {
		status      int
		read, write leasehold.Reason
	}{
		{301, down, down}, {307, down, down}, {400, down, down}, {404, down, down}, {405, down, down},
		{414, down, down}, {431, down, down}, {408, down, unknown}, {409, down, unknown}, {499, down, unknown},
		{401, leasehold.ReasonUnauthenticated, leasehold.ReasonUnauthenticated},
		{403, leasehold.ReasonForbidden, leasehold.ReasonForbidden},
		{413, leasehold.ReasonTooLarge, leasehold.ReasonTooLarge},
		{429, leasehold.ReasonRateLimited, leasehold.ReasonRateLimited},
		{500, down, unknown}, {502, down, unknown}, {503, down, down}, {504, down, unknown},
		{501, leasehold.ReasonUnsupported, leasehold.ReasonUnsupported},
	} {
		status = c.status
		_, err := s.Status(t.Context(), "r")
		e := typed(t, http.StatusText(status), err, c.read)
		if e.RetryAfter != 3*time.Second || e.Cause == nil || !strings.Contains(err.Error(), "problem document") {
			t.Errorf("Status answered %d = %+v, want what the stranger said", status, e)
		}
		_, err = s.Release(t.Context(), leasehold.ReleaseRequest{ID: leasehold.NewID(), Resource: "r"})
		typed(t, http.StatusText(status), err, c.write)
	}
}

func TestProblemsComeBackAsTheyWere(t *testing.T) {
	var sent leasehold.Error
	s := server(t, nil, func(w http.ResponseWriter, r *http.Request) { refuse(w, &sent) })
	sent = leasehold.Error{Reason: leasehold.ReasonHeld, Op: "acquire", Resource: "r", Store: "sqlite", Current: new(lease()), Waiting: 2, RetryAfter: time.Second}
	_, err := s.Acquire(t.Context(), request())
	e := typed(t, "Acquire", err, leasehold.ReasonHeld)
	if err.Error() != sent.Error() || e.Store != "sqlite" || e.Waiting != 2 || e.RetryAfter != time.Second || e.Current.Holder != "h" {
		t.Errorf("Acquire = %+v, want %+v", e, sent)
	}

	sent = leasehold.Error{Reason: leasehold.ReasonInvalid, Field: "priority", Problem: "is odd"}
	_, err = s.Acquire(t.Context(), request())
	if e := typed(t, "Acquire", err, leasehold.ReasonInvalid); e.Field != "priority" || e.Problem != "is odd" || e.Op != "acquire" || e.Resource != "r" {
		t.Errorf("Acquire = %+v, want field, problem, op and resource", e)
	}
}

func TestNewerServers(t *testing.T) {
	s := server(t, nil, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", wire.ProblemType)
		w.WriteHeader(http.StatusConflict)
		_, _ = w.Write([]byte(`{"code":"moon_phase","detail":"the moon is full","new_field":[]}`))
	})
	_, err := s.Acquire(t.Context(), request())
	if typed(t, "Acquire", err, leasehold.ReasonHeld); !strings.Contains(err.Error(), "the moon is full") {
		t.Errorf("Acquire = %v, want what the server said", err)
	}
}

// A path that the server does not have, at a wrong address or at an older server, says
// nothing about leases: none is lost, and none is held.
func TestNoSuchPath(t *testing.T) {
	s := server(t, nil, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", wire.ProblemType)
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"status":404,"code":"not_found","detail":"there is no such path; /docs lists them"}`))
	})
	unsupported := leasehold.ReasonUnsupported
	checkReasons(t, s, "no such path", unsupported, unsupported, unsupported)
	_, err := s.Acquire(t.Context(), request())
	if typed(t, "Acquire", err, unsupported); !strings.Contains(err.Error(), "http://") || !strings.Contains(err.Error(), "no such path") {
		t.Errorf("Acquire = %v, want the address and what the server said", err)
	}
}

func TestTimeout(t *testing.T) {
	both(t, func(t *testing.T, options func() *remote.Options) {
		o := options()
		o.Timeout = 20 * time.Millisecond
		s := server(t, o, func(w http.ResponseWriter, r *http.Request) { hang(r) })
		_, err := s.Status(t.Context(), "r")
		typed(t, "Status of a server that hangs", err, leasehold.ReasonUnavailable)
		_, err = s.Renew(t.Context(), leasehold.RenewRequest{ID: leasehold.NewID()})
		if typed(t, "Renew at a server that hangs", err, leasehold.ReasonUnknown); !strings.Contains(err.Error(), "within 20ms") {
			t.Errorf("Renew = %v, want it to tell the timeout", err)
		}
	})
}

// A host that swallows everything holds up nobody, not even a wait.
func TestNoConnection(t *testing.T) {
	swallow := func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	s := open(t, "http://host", &remote.Options{Dial: swallow, Timeout: 10 * time.Millisecond})
	checkReasons(t, s, "no connection", leasehold.ReasonUnavailable, leasehold.ReasonUnavailable, leasehold.ReasonUnavailable)
}

func TestContext(t *testing.T) {
	both(t, func(t *testing.T, o func() *remote.Options) {
		arrived := make(chan struct{}, 100)
		s := server(t, o(), func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			arrived <- struct{}{}
			hang(r)
		})
		cause := errors.New("thought better of it")
		call := func(f func(ctx context.Context) error) error {
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() {
				<-arrived
				cancel(cause)
			}()
			err := f(ctx)
			if !errors.Is(err, cause) {
				t.Errorf("the error %v does not wrap the context's cause", err)
			}
			return err
		}
		typed(t, "Renew", call(func(ctx context.Context) error {
			_, err := s.Renew(ctx, leasehold.RenewRequest{ID: leasehold.NewID()})
			return err
		}), leasehold.ReasonUnknown)
		typed(t, "Acquire", call(func(ctx context.Context) error {
			_, err := s.Acquire(ctx, request())
			return err
		}), leasehold.ReasonUnknown)
		typed(t, "Status", call(func(ctx context.Context) error {
			_, err := s.Status(ctx, "r")
			return err
		}), leasehold.ReasonUnavailable)
		typed(t, "Wait", call(func(ctx context.Context) error {
			_, err := s.Wait(ctx, request())
			return err
		}), leasehold.ReasonCancelled)

		ended, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := s.Renew(ended, leasehold.RenewRequest{ID: leasehold.NewID()})
		typed(t, "Renew that was never sent", err, leasehold.ReasonUnavailable)
	})
}
