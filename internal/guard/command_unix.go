//go:build unix

package guard

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Command is what to run under a guardian.
type Command struct {
	Path string   // of the program; Find finds it
	Args []string // with the name of the program first
	Env  []string

	// Grace is the time between SIGTERM and SIGKILL, shortened where the lease
	// does not last as long. Zero: none.
	Grace time.Duration

	// Started is called when the command has started. CloseStdio is for programs
	// that do not use their standard input and output any more.
	Started func()

	// Stuck is called, once or more, when the command cannot be stopped and runs
	// on; standard error then says why. May be nil.
	Stuck func()

	// Guardian are the arguments that start this program as the guardian.
	Guardian []string
}

// Lease is what the command must not outlive.
type Lease interface {
	// Lost is closed when the lease is lost.
	Lost() <-chan struct{}
	// Changed receives whenever Remaining may have changed.
	Changed() <-chan struct{}
	// Remaining returns the time until the command gets SIGTERM, and until it
	// must be gone. Negative: no end.
	Remaining() (line, end time.Duration)
}

// Outcome is how a command ended.
type Outcome struct {
	Code int  // of the exit, or 128 and the signal's number
	Lost bool // the lease was lost, and the command may have been ended for it
}

// Find finds the command's program as a shell does, in the current directory too
// if PATH names it: the user decides.
func Find(name string) (string, error) {
	path, err := exec.LookPath(name)
	if errors.Is(err, exec.ErrDot) {
		return path, nil
	}
	return path, err
}

// The exit codes of shells.
const (
	codeCannotRun = 126
	codeNotFound  = 127
	codeSignal    = 128
)

// CodeOf returns the exit code that shells have for a command that cannot be run
// because of err.
func CodeOf(err error) int {
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, exec.ErrNotFound) {
		return codeNotFound
	}
	return codeCannotRun
}

// codeOf returns the exit code that shells have for a process that ended so.
func codeOf(status syscall.WaitStatus) int {
	if status.Signaled() {
		return codeSignal + int(status.Signal())
	}
	return status.ExitStatus()
}
