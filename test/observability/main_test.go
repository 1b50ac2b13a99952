//go:build unix

package observability

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/leasehold/leasehold/test/process"
)

func TestMain(m *testing.M) {
	code := m.Run()
	_ = os.RemoveAll(builtDir)
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

var builtDir string // where buildBinary has put the program

var buildBinary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "leasehold-observability-")
	if err != nil {
		return "", err
	}
	builtDir = dir
	path := filepath.Join(dir, "leasehold")
	return path, process.Build("../../cmd/leasehold", path)
})

// shipped is the folder that is tested.
const shipped = "../../deploy/observability"

func read(t testing.TB, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t testing.TB, text string, path ...string) string {
	t.Helper()
	file := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// eventually waits until the condition holds. Prometheus looks for its targets every
// few seconds only, and the machine may be busy.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !condition(); {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
		time.Sleep(20 * time.Millisecond) // no event says how far another process is
	}
}
