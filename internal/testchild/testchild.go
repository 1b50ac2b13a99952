// Package testchild starts a test binary again, as another process: one that competes,
// can be killed, lacks rights, or has no disk space.
package testchild

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// T is the part of testing.TB that is used here. Package testing itself registers
// flags in every program that imports it.
type T interface {
	Helper()
	Context() context.Context
	Fatalf(format string, args ...any)
}

// env names the program that a child runs.
const env = "LEASEHOLD_TEST_CHILD"

// Main runs a child's program and ends the process; in a test it returns. TestMain calls
// it first. A program gets the path of what it works on, prints how it goes, and may fail
// by returning an error.
func Main(programs map[string]func(path string) error) {
	program := os.Getenv(env)
	if program == "" {
		return
	}
	code := 0
	if err := programs[program](os.Args[1]); err != nil {
		fmt.Printf("error %v\n", err)
		code = 1
	}
	syscall.Exit(code) // without what os.Exit does for coverage, which needs rights that a child may lack
}

// Command makes the command that runs a program on a path.
func Command(ctx context.Context, program, path string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], path)
	// A race ends the child, so that its parent notices; without one the race
	// detector would let it linger for a second.
	cmd.Env = append(os.Environ(), env+"="+program, "GORACE=halt_on_error=1 atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	return cmd
}

// Run runs a program to its end and returns what it printed.
func Run(t T, program, path string) string {
	t.Helper()
	out, err := Command(t.Context(), program, path).Output()
	if err != nil {
		t.Fatalf("child %s = %v, saying:\n%s", program, err, out)
	}
	return string(bytes.TrimSpace(out))
}
