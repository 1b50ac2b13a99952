//go:build unix

package stores_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
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

// Several processes of the built program on one Redis are one service.

func TestMain(m *testing.M) {
	code := m.Run()
	_ = os.RemoveAll(builtDir)
	os.Exit(code)
}

var builtDir string // where buildProgram has put the program

// buildProgram builds the program once for all tests that need it.
var buildProgram = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "leasehold-stores-")
	if err != nil {
		return "", err
	}
	builtDir = dir
	path := filepath.Join(dir, "leasehold")
	return path, process.Build("../../cmd/leasehold", path)
})

// service is several servers on one store. A client that cannot reach one gets the
// next.
type service struct {
	servers []*process.Process
	addrs   []string
	moved   atomic.Int32
}

func startService(t *testing.T, store string, n int) *service {
	t.Helper()
	program, err := buildProgram()
	if err != nil {
		t.Fatal(err)
	}
	process.UnignoreSignals()
	var s service
	for range n {
		s.servers = append(s.servers, process.Start(t, exec.Command(program, "serve", "--listen", "127.0.0.1:0", "--blob-listen", "off", "--store", store)))
	}
	for _, server := range s.servers {
		process.Eventually(t, "the server answers", func() bool {
			select {
			case <-server.Done:
				t.Fatalf("the server ended before it answered: %s", server.Stderr())
			default:
			}
			return strings.Contains(server.Stdout(), "\n")
		})
		line, _, _ := strings.Cut(server.Stdout(), "\n")
		s.addrs = append(s.addrs, strings.TrimPrefix(process.ServerURL(line), "http://"))
	}
	return &s
}

// connect returns a client that prefers one of the servers.
func (s *service) connect(t *testing.T, first int) *remote.Store {
	dial := func(ctx context.Context, network, _ string) (conn net.Conn, err error) {
		for i := range s.addrs {
			if conn, err = new(net.Dialer).DialContext(ctx, network, s.addrs[(first+i)%len(s.addrs)]); err == nil {
				if i > 0 {
					s.moved.Add(1)
				}
				return conn, nil
			}
		}
		return nil, err
	}
	client, err := remote.Open("http://localhost", &remote.Options{Dial: dial})
	if err != nil {
		t.Fatalf("Open = %v, want success", err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// monitor is everything that a Redis is asked to do.
type monitor struct {
	mu    sync.Mutex
	lines []string
}

func startMonitor(t *testing.T, addr string) *monitor {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(conn)
	lines.Buffer(nil, 1<<20) // scripts are sent whole the first time
	if _, err := conn.Write([]byte("MONITOR\r\n")); err != nil || !lines.Scan() {
		t.Fatalf("MONITOR = %v, %v", err, lines.Err())
	}
	var m monitor
	done := make(chan struct{})
	go func() {
		defer close(done)
		for lines.Scan() {
			m.mu.Lock()
			m.lines = append(m.lines, lines.Text())
			m.mu.Unlock()
		}
	}()
	t.Cleanup(func() { conn.Close(); <-done })
	return &m
}

// scripts is how many scripts ran on a resource.
func (m *monitor) scripts(resource string) (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, line := range m.lines {
		// What a script calls is there as well, by the client "lua".
		if strings.Contains(line, fmt.Sprintf("%q", "lease:"+resource)) && !strings.Contains(line, " lua] ") {
			n++
		}
	}
	return n
}

// A release on one server wakes a waiter on another, by a notice and not by looking
// again and again.
func TestRedisWakesAcrossServers(t *testing.T) {
	redis := testserver.Redis(t).Addr
	service := startService(t, "redis://"+redis, 3)
	monitor := startMonitor(t, redis)
	var took []time.Duration
	for i := range 9 {
		holding, waiting := service.connect(t, i%3), service.connect(t, (i+1)%3)
		request := leasehold.AcquireRequest{Resource: fmt.Sprint("r", i), Holder: "h", TTL: time.Minute}
		g, err := holding.Acquire(t.Context(), request)
		if err != nil {
			t.Fatalf("Acquire = %v, want a grant", err)
		}
		granted := make(chan error, 1)
		request.Holder, request.Timeout = "w", 30*time.Second
		go func() {
			_, err := waiting.Wait(context.WithoutCancel(t.Context()), request)
			granted <- err
		}()
		process.Eventually(t, "the waiter has tried", func() bool { return monitor.scripts(g.Resource) > 1 })
		time.Sleep(200 * time.Millisecond) // the first waiter of a server tries again when it has subscribed
		before := monitor.scripts(g.Resource)
		time.Sleep(300 * time.Millisecond) // in which it must not look again
		if after := monitor.scripts(g.Resource); after != before {
			t.Errorf("%d scripts on %s in 0.3s, want a waiter that does not look", after-before, g.Resource)
		}
		start := time.Now()
		if _, err := holding.Release(t.Context(), leasehold.ReleaseRequest{ID: g.ID, Resource: g.Resource}); err != nil {
			t.Fatalf("Release = %v, want success", err)
		}
		if err := <-granted; err != nil {
			t.Fatalf("Wait = %v, want a grant", err)
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	t.Logf("woken after %v in the middle, %v at most", took[len(took)/2], took[len(took)-1])
	if took[len(took)-1] > 2*time.Second { // a look comes after 4 s at the earliest
		t.Errorf("a release on one server woke a waiter on another after %v, want it by a notice", took[len(took)-1])
	}
}

// When one of three servers is killed in the middle of its work, its waiters
// reconnect to another one. Every waiter gets the lease once, and never two at a
// time.
func TestRedisServerDies(t *testing.T) {
	redis := testserver.Redis(t).Addr
	service := startService(t, "redis://"+redis, 3)
	monitor := startMonitor(t, redis)
	first := service.connect(t, 0)
	holder, err := first.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "first", TTL: time.Minute})
	if err != nil {
		t.Fatalf("Acquire = %v, want a grant", err)
	}
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
	// Each tries once as it joins, because of its id.
	process.Eventually(t, "all wait", func() bool { return monitor.scripts("r") > waiters })
	releaseSurely(t, first, holder.Lease)
	process.Eventually(t, "some have had it", func() bool { return grants.Load() >= 3 })
	service.servers[1].Signal(syscall.SIGKILL)
	all.Wait()
	service.servers[1].CheckCode(-int(syscall.SIGKILL))
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

// releaseSurely releases, and asks again while the answer is lost.
func releaseSurely(t *testing.T, s *remote.Store, l leasehold.Lease) {
	t.Helper()
	r := leasehold.ReleaseRequest{ID: l.ID, Resource: l.Resource}
	for lost := false; ; lost = true {
		_, err := s.Release(t.Context(), r)
		switch {
		case err == nil, lost && errors.Is(err, leasehold.ErrNotFound):
			return
		case errors.Is(err, leasehold.ErrUnknown), errors.Is(err, leasehold.ErrUnavailable):
		default:
			t.Errorf("Release = %v, want success", err)
			return
		}
	}
}
