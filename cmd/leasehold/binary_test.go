//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// The tests whose names begin with TestBinary try the program from outside: the
// file that go build makes, as a process, over TCP. They know nothing of its
// packages. (The scripts run the test's own binary under the program's name, and
// so with the race detector.)

// buildBinary builds the program once for all tests that need it.
var buildBinary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "leasehold-binary-")
	if err != nil {
		return "", err
	}
	built = dir
	path := filepath.Join(dir, "leasehold")
	// The flags of make build, so that its packages are compiled already.
	if text, err := exec.Command("go", "build", "-buildvcs=false", "-o", path, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, text)
	}
	return path, nil
})

// binary returns a command of the real program.
func binary(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	path, err := buildBinary()
	if err != nil {
		t.Fatal(err)
	}
	return exec.Command(path, args...)
}

// binaryServer is a server of the real program. Its caller is whoever reaches it.
type binaryServer struct {
	*caller
	process *running
	flags   []string
}

// serveBinary starts a server on a free port, by default on a database of its
// own, and waits until it answers.
func serveBinary(t *testing.T, flags ...string) *binaryServer {
	t.Helper()
	heedSignals()
	if !strings.Contains(strings.Join(flags, " "), "--data") {
		flags = append(flags, "--data", t.TempDir())
	}
	s := &binaryServer{flags: flags}
	s.start(t)
	return s
}

func (s *binaryServer) start(t *testing.T) {
	t.Helper()
	s.process = startProcess(t, binary(t, append([]string{"serve", "--listen", "127.0.0.1:0"}, s.flags...)...), func(*exec.Cmd) {})
	s.await(t)
}

// await waits until the server says where it is.
func (s *binaryServer) await(t *testing.T) {
	t.Helper()
	eventually(t, "the server answers", func() bool {
		select {
		case <-s.process.done:
			t.Fatalf("the server ended before it answered: %s", s.process.stderr())
		default:
		}
		return strings.Contains(s.process.stdout(), "\n")
	})
	line, _, _ := strings.Cut(s.process.stdout(), "\n")
	url := jsonDoor(line)
	if url == "" {
		t.Fatalf("the server said %q, want JSON API and its address", line)
	}
	s.caller = newCaller(t, url)
}

func (s *binaryServer) address() string { return strings.TrimPrefix(s.url, "http://") }

// restart ends the server with a signal and starts it again with the same data.
func (s *binaryServer) restart(sig syscall.Signal) {
	s.t.Helper()
	s.process.signal(sig)
	code := 0
	if sig == syscall.SIGKILL {
		code = -int(sig)
	}
	s.process.wantCode(code)
	s.start(s.t)
}

// cli runs a client command and returns its exit code and what it wrote.
func (s *binaryServer) cli(env []string, args ...string) (code int, out, err string) {
	s.t.Helper()
	r := startProcess(s.t, binary(s.t, args...), func(c *exec.Cmd) {
		c.Env = append(append(c.Env, "LEASEHOLD_STORE="+s.url), env...)
	})
	return r.code(), whole(s.t, r.out), whole(s.t, r.err)
}
