package cmd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/leasehold/leasehold/test/process"
)

// TestInMemory: a server in memory leaves nothing, whatever signal ends it; one
// that was killed, nothing after the next one has started.
func TestInMemory(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGKILL} {
		server, dir := startInMemory(t)
		server.Signal(s)
		<-server.Done
		if s == syscall.SIGKILL {
			next, _ := startInMemory(t)
			next.Signal(syscall.SIGTERM)
			<-next.Done
		}
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("after %v: Stat(%s) = %v, want it gone", s, dir, err)
		}
	}
}

// startInMemory starts a server and finds its directory.
func startInMemory(t *testing.T) (*process.Process, string) {
	t.Helper()
	process.UnignoreSignals() // the server ignores SIGHUP if the test does
	server := process.Start(t, binary(t, "serve", "--listen", "127.0.0.1:0", "--in-memory"))
	server.AwaitOutput("BlobEndpoint")
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", server.Cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if at, err := os.Readlink(file); err == nil && strings.HasSuffix(at, "/alive") {
			return server, filepath.Dir(at)
		}
	}
	t.Fatal("the server has no directory in memory")
	return nil, ""
}
