package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestBinaryInMemory: nothing is left of a server in memory, however it is asked
// to end; of one that was killed, nothing after the next one has begun.
func TestBinaryInMemory(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGKILL} {
		server, dir := startInMemory(t)
		server.signal(s)
		<-server.done
		if s == syscall.SIGKILL {
			next, _ := startInMemory(t)
			next.signal(syscall.SIGTERM)
			<-next.done
		}
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("after %v: Stat(%s) = %v, want it gone", s, dir, err)
		}
	}
}

// startInMemory starts a server and finds its directory.
func startInMemory(t *testing.T) (*running, string) {
	t.Helper()
	heedSignals() // the server ignores a hangup only if we do
	server := startProcess(t, binary(t, "serve", "--listen", "127.0.0.1:0", "--in-memory"), func(*exec.Cmd) {})
	server.says("BlobEndpoint")
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", server.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if at, err := os.Readlink(file); err == nil && strings.HasSuffix(at, "/"+memoryLock) {
			return server, filepath.Dir(at)
		}
	}
	t.Fatal("the server has no directory in memory")
	return nil, ""
}
