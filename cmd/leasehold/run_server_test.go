//go:build unix

package main

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/server/api"
	"github.com/leasehold/leasehold/server/auth"
	"github.com/leasehold/leasehold/store/memory"
	"github.com/leasehold/leasehold/test/process"
)

// runServer is a server in this process that can be closed and opened again with
// the same leases.
type runServer struct {
	t       *testing.T
	store   leasehold.Store
	address string
	caller  auth.Caller
	server  *http.Server
	lossy   atomic.Bool // requests are served, and their answers lost
}

func newRunServer(t *testing.T) *runServer {
	process.UnignoreSignals()
	t.Helper()
	return newRunServerFor(t, auth.Local)
}

// newRunServerFor returns a server that takes every request for this caller's.
func newRunServerFor(t *testing.T, caller auth.Caller) *runServer {
	t.Helper()
	store := memory.New()
	s := &runServer{t: t, store: store, address: "127.0.0.1:0", caller: caller}
	s.open()
	t.Cleanup(func() {
		s.close()
		if err := store.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	})
	return s
}

func (s *runServer) url() string { return "http://" + s.address }

func (s *runServer) open() {
	s.t.Helper()
	listener, err := net.Listen("tcp", s.address)
	if err != nil {
		s.t.Fatal(err)
	}
	s.address = listener.Addr().String()
	handler := api.New(s.store, nil).Handler()
	s.server = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.lossy.Load() {
			defer panic(http.ErrAbortHandler)
			w = httptest.NewRecorder()
		}
		handler.ServeHTTP(w, r.WithContext(auth.With(r.Context(), s.caller)))
	})}
	go func() { _ = s.server.Serve(listener) }()
}

// close cuts every connection.
func (s *runServer) close() { _ = s.server.Close() }

// holder returns who holds a resource, "" if nobody does.
func (s *runServer) holder(resource string) string {
	s.t.Helper()
	status, err := s.store.Status(context.Background(), resource)
	if err != nil {
		s.t.Fatalf("Status(%q) = %v", resource, err)
	}
	if !status.Locked() {
		return ""
	}
	return status.Lease.Holder
}

// renewals returns how often the lease on a resource has been renewed.
func (s *runServer) renewals(resource string) int {
	s.t.Helper()
	status, err := s.store.Status(context.Background(), resource)
	if err != nil || status.Lease == nil {
		s.t.Fatalf("Status(%q) = %+v, %v", resource, status, err)
	}
	return status.Lease.Renewals
}

// waiters returns how many wait for a resource.
func (s *runServer) waiters(resource string) int {
	s.t.Helper()
	status, err := s.store.Status(context.Background(), resource)
	if err != nil {
		s.t.Fatalf("Status(%q) = %v", resource, err)
	}
	return len(status.Waiters)
}

// hold acquires a resource for another holder.
func (s *runServer) hold(resource string) (release func()) {
	s.t.Helper()
	id := leasehold.NewID()
	_, err := s.store.Acquire(context.Background(), leasehold.AcquireRequest{Resource: resource, Holder: "somebody", ID: id, TTL: time.Minute})
	if err != nil {
		s.t.Fatalf("Acquire(%q) = %v", resource, err)
	}
	return func() {
		if _, err := s.store.Release(context.Background(), leasehold.ReleaseRequest{ID: id, Resource: resource}); err != nil {
			s.t.Errorf("Release(%q) = %v", resource, err)
		}
	}
}

func (s *runServer) breakLease(resource string, period time.Duration) {
	s.t.Helper()
	_, err := s.store.(leasehold.Breaker).Break(context.Background(), leasehold.BreakRequest{Resource: resource, Period: &period})
	if err != nil {
		s.t.Fatalf("Break(%q) = %v", resource, err)
	}
}

// start runs leasehold run with these arguments.
func (s *runServer) start(args ...string) *process.Process {
	s.t.Helper()
	return s.startWith(func(*exec.Cmd) {}, args...)
}

func (s *runServer) startWith(prepare func(*exec.Cmd), args ...string) *process.Process {
	s.t.Helper()
	path, err := exec.LookPath("leasehold")
	if err != nil {
		s.t.Fatal(err)
	}
	return process.Start(s.t, exec.Command(path, append([]string{"--store", s.url(), "run"}, args...)...), prepare)
}
