//go:build unix

package stores_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/remote"
	"github.com/leasehold/leasehold/test/process"
)

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
		s.servers = append(s.servers, process.Start(t, exec.Command(program, "serve", "--listen", "127.0.0.1:0", "--store", store)))
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

// waiters is how many requests wait at a server, as its metrics say.
func (s *service) waiters(t *testing.T, server int) (n int) {
	t.Helper()
	response, err := http.Get("http://" + s.addrs[server] + "/metrics")
	if err != nil {
		t.Fatalf("metrics: %v", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("metrics: %v", err)
	}
	_, rest, found := strings.Cut(string(text), "\nleasehold_waiters")
	if i := strings.IndexByte(rest, ' '); found && i >= 0 {
		_, err = fmt.Sscan(rest[i:], &n)
	}
	if !found || err != nil {
		t.Fatalf("the metrics do not say how many wait: %v", err)
	}
	return n
}

// releaseSurely releases, and asks again while the answer is lost.
func releaseSurely(t *testing.T, s *remote.Store, l leasehold.Lease) {
	t.Helper()
	r := leasehold.ReleaseRequest{ID: l.ID, Resource: l.Resource}
	for lost := false; ; lost = true {
		_, err := s.Release(t.Context(), r)
		switch {
		case err == nil, lost && (errors.Is(err, leasehold.ErrNotFound) || leasehold.ReasonOf(err) == leasehold.ReasonReleased):
			return
		case errors.Is(err, leasehold.ErrUnknown), errors.Is(err, leasehold.ErrUnavailable):
		default:
			t.Errorf("Release = %v, want success", err)
			return
		}
	}
}
