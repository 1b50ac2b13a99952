package shared

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// childEnv names what this test binary does when a test starts it as another
// process: one that competes, can be killed, lacks rights, or has no disk space.
const childEnv = "LEASEHOLD_TEST_CHILD"

// children are the programs. Each gets the path of a database, prints how it goes,
// and may fail by returning an error.
var children = map[string]func(path string) error{
	"compete": compete,
	"open":    openAndPrint,
	"engine":  openEngineAndPrint,
}

func init() {
	for name, program := range unixChildren {
		children[name] = program
	}
}

func TestMain(m *testing.M) {
	program := os.Getenv(childEnv)
	if program == "" {
		goleak.VerifyTestMain(m) // exits
	}
	code := 0
	if err := children[program](os.Args[1]); err != nil {
		fmt.Printf("error %v\n", err)
		code = 1
	}
	syscall.Exit(code) // without what os.Exit does for coverage, which needs rights that a child may lack
}

// child makes the command that runs a program on a database.
func child(ctx context.Context, program, path string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], path)
	cmd.Env = append(os.Environ(), childEnv+"="+program, "GORACE=halt_on_error=1 atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	return cmd
}

// runChild runs a program to its end and returns what it printed.
func runChild(t *testing.T, program, path string) string {
	t.Helper()
	out, err := child(t.Context(), program, path).Output()
	if err != nil {
		t.Fatalf("child %s = %v, saying:\n%s", program, err, out)
	}
	return string(bytes.TrimSpace(out))
}
