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

	// Began is called when the command has begun; LetGo is for programs that
	// have no more use for their standard input and output then.
	Began func()

	// Stuck is called, once or more, when the command cannot be stopped and runs
	// on; standard error then says why. May be nil.
	Stuck func()

	// Guardian is how this program is started in its second role.
	Guardian []string
}

// Lease is what the command must not outlive.
type Lease interface {
	// Lost is closed when the lease is lost.
	Lost() <-chan struct{}
	// Changed has something whenever Validity may have changed.
	Changed() <-chan struct{}
	// Validity returns how much is left: to the moment at which the command
	// has to be told, and to the moment at which it has to be gone. Negative:
	// no end.
	Remaining() (line, end time.Duration)
}

// Outcome is how a command ended.
type Outcome struct {
	Code int  // of the exit, or 128 and the signal's number
	Lost bool // it was ended, or may have been, because the lease was lost
}

// Find finds the command's program as a shell does. A name found in the current
// directory because PATH says so is fine: this is no library's choice.
func Find(name string) (string, error) {
	path, err := exec.LookPath(name)
	if errors.Is(err, exec.ErrDot) {
		return path, nil
	}
	return path, err
}

// The exit codes of shells for a command that does not begin.
const (
	codeCannotRun = 126
	codeNotFound  = 127
	codeSignal    = 128
)

// CodeOf returns the exit code that shells have for a command that cannot be
// run for this reason.
func CodeOf(err error) int {
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, exec.ErrNotFound) {
		return codeNotFound
	}
	return codeCannotRun
}

// codeOf is what a shell says of a process that ended like this.
func codeOf(status syscall.WaitStatus) int {
	if status.Signaled() {
		return codeSignal + int(status.Signal())
	}
	return status.ExitStatus()
}
