//go:build unix

package cmd_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/leasehold/leasehold/test/process"
)

// These tests try the program from outside: the file that go build makes, as a
// process, over TCP. They know nothing of its packages. (The scripts and the tests
// of leasehold run in cmd/leasehold run the test's own binary under the program's
// name, and so with the race detector.)

func TestMain(m *testing.M) {
	// Most of these tests wait for clocks and processes, not for a processor.
	_ = flag.Set("test.parallel", strconv.Itoa(max(4, runtime.GOMAXPROCS(0)))) // the command line has the last word
	code := m.Run()
	_ = os.RemoveAll(builtDir)
	os.Exit(code)
}

var builtDir string // where buildBinary has put the program

// buildBinary builds the program once for all tests that need it.
var buildBinary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "leasehold-binary-")
	if err != nil {
		return "", err
	}
	builtDir = dir
	path := filepath.Join(dir, "leasehold")
	return path, process.Build("../../cmd/leasehold", path)
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

// binaryServer is a server of the real program, and a client of it.
type binaryServer struct {
	*client
	process *process.Process
	flags   []string
}

// serveBinary starts a server on a free port, by default on a database of its
// own, and waits until it answers.
func serveBinary(t *testing.T, flags ...string) *binaryServer {
	t.Helper()
	process.UnignoreSignals()
	if !strings.Contains(strings.Join(flags, " "), "--data") {
		flags = append(flags, "--data", t.TempDir())
	}
	s := &binaryServer{flags: flags}
	s.start(t)
	return s
}

func (s *binaryServer) start(t *testing.T) {
	t.Helper()
	s.process = process.Start(t, binary(t, append([]string{"serve", "--listen", "127.0.0.1:0"}, s.flags...)...))
	s.await(t)
}

// await waits until the server says where it is.
func (s *binaryServer) await(t *testing.T) {
	t.Helper()
	process.Eventually(t, "the server answers", func() bool {
		select {
		case <-s.process.Done:
			t.Fatalf("the server ended before it answered: %s", s.process.Stderr())
		default:
		}
		return strings.Contains(s.process.Stdout(), "\n")
	})
	line, _, _ := strings.Cut(s.process.Stdout(), "\n")
	url := process.ServerURL(line)
	if url == "" {
		t.Fatalf("the server wrote %q, want JSON API and its address", line)
	}
	s.client = newClient(t, url)
}

func (s *binaryServer) address() string { return strings.TrimPrefix(s.url, "http://") }

// restart ends the server with a signal and starts it again with the same data.
func (s *binaryServer) restart(sig syscall.Signal) {
	s.t.Helper()
	s.process.Signal(sig)
	code := 0
	if sig == syscall.SIGKILL {
		code = -int(sig)
	}
	s.process.CheckCode(code)
	s.start(s.t)
}

// cli runs a client command and returns its exit code and what it wrote.
func (s *binaryServer) cli(env []string, args ...string) (code int, out, err string) {
	s.t.Helper()
	r := process.Start(s.t, binary(s.t, args...), func(c *exec.Cmd) {
		c.Env = append(append(c.Env, "LEASEHOLD_STORE="+s.url), env...)
	})
	return r.Code(), r.Stdout(), r.Stderr()
}
