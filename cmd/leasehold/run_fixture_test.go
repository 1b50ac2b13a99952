//go:build unix

package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/server/api"
	"github.com/leasehold/leasehold/server/auth"
	"github.com/leasehold/leasehold/store/memory"
)

// These tests run real processes against real clocks. They wait for what they
// want to see, with soon as the end of patience; a bare sleep stands only where
// something has to be seen not to happen.
const soon = 20 * time.Second

// runServer is a server in this process that can go away and come back with
// everything it knew.
type runServer struct {
	t       *testing.T
	store   leasehold.Store
	address string
	caller  auth.Caller
	server  *http.Server
	lossy   atomic.Bool // what is asked is done, and the answer is lost
}

// heedSignals takes it back that the tests were started with signals ignored,
// as nohup and background jobs are: what they start would ignore them as well,
// and a shell cannot trap what was ignored before it began.
var heedSignals = sync.OnceFunc(func() {
	for _, sig := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
})

func newRunServer(t *testing.T) *runServer {
	heedSignals()
	t.Helper()
	return newRunServerFor(t, auth.Local)
}

// newRunServerFor has a server that takes everybody for this caller.
func newRunServerFor(t *testing.T, caller auth.Caller) *runServer {
	t.Helper()
	store := memory.New()
	s := &runServer{t: t, store: store, address: "127.0.0.1:0", caller: caller}
	s.open()
	t.Cleanup(func() {
		s.shut()
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

// shut cuts every connection; nobody answers any more.
func (s *runServer) shut() { _ = s.server.Close() }

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

// hold has somebody else hold a resource, and returns how to let go.
func (s *runServer) hold(resource string) (letGo func()) {
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

// running is a process of leasehold run.
type running struct {
	t        *testing.T
	cmd      *exec.Cmd
	out, err string // files, so that no pipe outlives the process
	done     chan struct{}
}

// start runs leasehold run with these arguments.
func (s *runServer) start(args ...string) *running {
	s.t.Helper()
	return s.startWith(func(*exec.Cmd) {}, args...)
}

func (s *runServer) startWith(prepare func(*exec.Cmd), args ...string) *running {
	s.t.Helper()
	path, err := exec.LookPath("leasehold")
	if err != nil {
		s.t.Fatal(err)
	}
	return startProcess(s.t, exec.Command(path, append([]string{"--store", s.url(), "run"}, args...)...), prepare)
}

func startProcess(t *testing.T, cmd *exec.Cmd, prepare func(*exec.Cmd)) *running {
	t.Helper()
	adoptOrphans()
	dir := t.TempDir()
	r := &running{t: t, cmd: cmd, out: filepath.Join(dir, "out"), err: filepath.Join(dir, "err"), done: make(chan struct{})}
	cmd.Env = append(os.Environ(), "GORACE="+noRaceNap, "LEASEHOLD_HOLDER=")
	stdout, err := os.Create(r.out)
	if err != nil {
		t.Fatal(err)
	}
	defer stdout.Close()
	stderr, err := os.Create(r.err)
	if err != nil {
		t.Fatal(err)
	}
	defer stderr.Close()
	cmd.Stdout, cmd.Stderr = stdout, stderr
	prepare(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = cmd.Wait()
		close(r.done)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGCONT)
		_ = cmd.Process.Kill()
		<-r.done
	})
	return r
}

// code waits for the end and returns the exit code.
func (r *running) code() int {
	r.t.Helper()
	select {
	case <-r.done:
	case <-time.After(soon):
		r.t.Fatalf("leasehold %q does not end; it said %q, %q", r.cmd.Args[1:], r.stdout(), r.stderr())
	}
	status := r.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return -int(status.Signal())
	}
	return status.ExitStatus()
}

func (r *running) wantCode(want int) {
	r.t.Helper()
	if got := r.code(); got != want {
		r.t.Errorf("leasehold %q = %d, want %d; it said %q, %q", r.cmd.Args[1:], got, want, r.stdout(), r.stderr())
	}
}

func (r *running) signal(s syscall.Signal) {
	r.t.Helper()
	if err := r.cmd.Process.Signal(s); err != nil {
		r.t.Fatalf("signal %v: %v", s, err)
	}
}

func (r *running) stdout() string { return content(r.t, r.out) }
func (r *running) stderr() string { return content(r.t, r.err) }

// says waits until the command has written a text.
func (r *running) says(text string) {
	r.t.Helper()
	eventually(r.t, "the command says "+text, func() bool { return strings.Contains(r.stdout(), text) })
}

// number returns the number after a word that the command wrote.
func (r *running) number(word string) int {
	r.t.Helper()
	r.says(word + "=")
	var n int
	eventually(r.t, word, func() bool {
		_, rest, _ := strings.Cut(r.stdout(), word+"=")
		digits, _, whole := strings.Cut(rest, "\n")
		var err error
		n, err = strconv.Atoi(digits)
		return whole && err == nil
	})
	return n
}

func content(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b[:min(len(b), 16<<10)]) // more than that nobody wants to read
}

func eventually(t *testing.T, what string, happened func() bool) {
	t.Helper()
	for deadline := time.Now().Add(soon); !happened(); {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
		time.Sleep(5 * time.Millisecond) // nothing tells when another process gets somewhere
	}
}

// gone waits until no process has this id, or, if it is negative, is in that
// group. Orphans come to the test, which has to reap them as init would.
func gone(t *testing.T, pid int) {
	t.Helper()
	eventually(t, "process "+strconv.Itoa(pid)+" is gone", func() bool {
		var status syscall.WaitStatus
		_, _ = syscall.Wait4(pid, &status, syscall.WNOHANG, nil)
		return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
	})
}
