//go:build unix

package azuretest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/leasehold/leasehold/test/process"
)

// built is the directory of the program; "" before it is built.
var built string

// program builds the program, once for all tests. It has no race detector: tests
// measure what is shipped.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "leasehold-azuretest-")
	if err != nil {
		return "", err
	}
	built = dir
	path := filepath.Join(dir, "leasehold")
	return path, process.Build("github.com/leasehold/leasehold/cmd/leasehold", path)
})

func TestMain(m *testing.M) {
	code := m.Run()
	if built != "" {
		_ = os.RemoveAll(built) // a temporary directory
	}
	os.Exit(code)
}

// command is the program with arguments.
func command(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	return exec.Command(path, args...)
}

// run runs a command to its end and returns its exit code and what it wrote.
func run(t testing.TB, args ...string) (code int, out, errs string) {
	t.Helper()
	cmd := command(t, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatalf("leasehold %q: %v", args, err)
	}
	return cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
}
