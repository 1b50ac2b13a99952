// Package testserver starts the servers that tests of networked stores need: real
// ones, on free loopback ports, with their data in the test's own folder. They end
// with the test.
//
// A test asks for a server and is skipped where the server is not installed. With
// LEASEHOLD_TEST_STORES=1, which `make test-stores` sets, it fails instead: what is
// meant to be tried must not be passed over. With LEASEHOLD_TEST_STORES=0, which
// `make test` sets, it is always skipped, so that `make test` takes the same time
// everywhere.
package testserver

import (
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
)

// T is the part of testing.TB that is used here. Package testing itself registers
// flags in every program that imports it.
type T interface {
	Helper()
	TempDir() string
	Cleanup(func())
	Logf(format string, args ...any)
	Skipf(format string, args ...any)
	Fatalf(format string, args ...any)
}

const (
	// Required is the environment variable that turns a missing server into a failure
	// (1) or skips every test that needs one (0).
	Required = "LEASEHOLD_TEST_STORES"

	// Emulators is the environment variable that names the folder in which
	// `make deps-emulators` has run. Default: test/emulators of this repository.
	Emulators = "LEASEHOLD_EMULATORS"
)

// missing skips the test, or fails it where the server must be there.
func missing(t T, server string) {
	t.Helper()
	if os.Getenv(Required) == "1" {
		t.Fatalf("%s is not installed, and %s=1 requires it; make test-stores installs it", server, Required)
	}
	t.Skipf("%s is not installed; make test-stores installs it and runs this test", server)
}

// Wanted skips a test that needs no server where tests of stores are not wanted: it is
// too long for `make test`.
func Wanted(t T) {
	t.Helper()
	if os.Getenv(Required) == "0" {
		t.Skipf("%s=0: make test-stores runs this test", Required)
	}
}

// mayRun skips the test where no server is wanted.
func mayRun(t T, server string) {
	t.Helper()
	if os.Getenv(Required) == "0" {
		t.Skipf("%s=0: this test starts %s; make test-stores runs it", Required, server)
	}
}

// program returns the path of an installed program.
func program(t T, name string) string {
	t.Helper()
	mayRun(t, name)
	path, err := exec.LookPath(name)
	if err != nil {
		missing(t, name)
	}
	return path
}

// emulator returns the path of a program that make deps-emulators installs.
func emulator(t T, name string) string {
	t.Helper()
	mayRun(t, name)
	dir := os.Getenv(Emulators)
	if dir == "" {
		dir = emulatorFolder()
	}
	path, err := filepath.Abs(filepath.Join(dir, "node_modules", ".bin", name))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if _, err := os.Stat(path); err != nil {
		missing(t, name)
	}
	return path
}

// emulatorFolder looks upward from the working directory, which is the package's
// own in a test.
func emulatorFolder() string {
	const folder = "test/emulators"
	for dir, _ := os.Getwd(); ; dir = filepath.Dir(dir) {
		found := filepath.Join(dir, filepath.FromSlash(folder))
		if _, err := os.Stat(filepath.Join(found, "package.json")); err == nil || dir == filepath.Dir(dir) {
			return found
		}
	}
}

// FreePort returns a loopback port on which nothing listened a moment ago.
func FreePort(t T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("no free port: %v", err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

// Silent returns the HOST:PORT of a server that accepts connections and never answers.
func Silent(t T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("no free port: %v", err)
	}
	var served sync.WaitGroup
	served.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			served.Go(func() {
				_, _ = io.Copy(io.Discard, conn) // until the client gives up
				conn.Close()
			})
		}
	})
	t.Cleanup(func() {
		listener.Close()
		served.Wait()
	})
	return listener.Addr().String()
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
