//go:build unix

package azuretest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// built is where the program is, once it is.
var built string

// program builds the program, once for all tests, without the race detector: it
// is the one that is shipped that is measured here.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "leasehold-blobtest-")
	if err != nil {
		return "", err
	}
	built = dir
	path := filepath.Join(dir, "leasehold")
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", path, "./cmd/leasehold")
	cmd.Dir = filepath.Join("..", "..")
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, text)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if built != "" {
		_ = os.RemoveAll(built) // in the directory for temporary things
	}
	os.Exit(code)
}

// command is one of the program's.
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
