package sqlite

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// childEnv names the part that this test binary plays when a test starts it as
// another process. Some things can only be shown with a process that can be
// killed, lacks rights, or has no disk space.
const childEnv = "LEASEHOLD_TEST_CHILD"

// children are the parts. Each gets the path of a database, says on standard
// output how it goes, and may fail by returning an error.
var children = map[string]func(path string) error{
	"hammer": hammer,
	"open":   openAndTell,
}

func TestMain(m *testing.M) {
	part := os.Getenv(childEnv)
	if part == "" {
		os.Exit(m.Run())
	}
	code := 0
	if err := children[part](os.Args[1]); err != nil {
		fmt.Printf("error %v\n", err)
		code = 1
	}
	syscall.Exit(code) // without what os.Exit does for coverage, which needs rights that a child may lack
}

// child makes the command that plays a part on a database.
func child(ctx context.Context, part, path string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], path)
	// A race ends the child, so that its parent notices; without one the race
	// detector would let it linger for a second.
	cmd.Env = append(os.Environ(), childEnv+"="+part, "GORACE=halt_on_error=1 atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	return cmd
}

// play runs a part to its end and returns what it said.
func play(t *testing.T, part, path string) string {
	t.Helper()
	out, err := child(t.Context(), part, path).Output()
	if err != nil {
		t.Fatalf("child %s = %v, saying:\n%s", part, err, out)
	}
	return string(bytes.TrimSpace(out))
}

// openAndTell says how opening the store goes.
func openAndTell(path string) error {
	s, err := Open(context.Background(), path, nil)
	if err != nil {
		fmt.Println(err)
		return nil
	}
	fmt.Println("opened")
	return s.Close()
}
