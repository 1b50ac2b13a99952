package remote_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/remote"
	"github.com/leasehold/leasehold/wire"
)

var moment = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

// lease is what the servers of these tests grant.
func lease() leasehold.Lease {
	return leasehold.Lease{
		Resource: "r", Holder: "h", Token: 7, State: leasehold.StateActive, TTL: time.Minute, Remaining: time.Minute,
		AcquiredAt: moment, RenewedAt: moment, ExpiresAt: moment.Add(time.Minute), MaxRenewals: leasehold.Unlimited,
	}
}

func owned(id leasehold.ID) leasehold.Lease {
	l := lease()
	l.ID = id
	return l
}

// answer writes an answer as the server does.
func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	if _, ok := body.(wire.Problem); ok {
		w.Header().Set("Content-Type", wire.ProblemType)
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func refuse(w http.ResponseWriter, e *leasehold.Error) {
	p := wire.FromError(e)
	answer(w, p.Status, p)
}

// server serves a handler over TCP and returns a client of it.
func server(t testing.TB, o *remote.Options, h http.HandlerFunc) *remote.Store {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return open(t, s.URL, o)
}

// scripted is a server that does with each connection what the script says, one
// after the other, and closes it. It is for what no HTTP server would do.
func scripted(t testing.TB, steps ...func(conn net.Conn)) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("Listen = %v, want success", err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for _, step := range steps {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer conn.Close()
				step(conn)
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		running.Wait()
	})
	return "http://" + l.Addr().String()
}

// reading reads a request and then says something, or nothing.
func reading(say string) func(net.Conn) {
	return func(conn net.Conn) {
		// All of it: a body may come in a packet of its own, and what was not
		// sent has not happened.
		if r, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
			_, _ = io.Copy(io.Discard, r.Body)
		}
		_, _ = io.WriteString(conn, say)
	}
}

// typed returns the error as what every error must be.
func typed(t testing.TB, call string, err error, want leasehold.Reason) *leasehold.Error {
	t.Helper()
	var e *leasehold.Error
	if !errors.As(err, &e) || e.Reason != want || !errors.Is(err, want.Sentinel()) {
		t.Fatalf("%s = %v, want %s", call, err, want)
	}
	return e
}

func request() leasehold.AcquireRequest {
	return leasehold.AcquireRequest{Resource: "r", Holder: "h"}
}

// hang does not answer until the client is gone, which a server notices only
// when it has read the body.
func hang(r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}
