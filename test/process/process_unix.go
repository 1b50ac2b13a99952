//go:build unix

package process

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Timeout is how long a test waits for what it wants to see. These tests run real
// processes against real clocks; a bare sleep stands only where something must be
// seen not to happen.
const Timeout = 20 * time.Second

// Process is a program that runs.
type Process struct {
	Cmd     *exec.Cmd
	Done    chan struct{} // closed when it has ended
	OutFile string        // files, so that no pipe outlives the process
	ErrFile string

	t T
}

// adoptOrphans has orphans of the programs under test reaped by Gone.
var adoptOrphans = func() {}

// UnignoreSignals undoes that the tests were started with signals ignored, as by
// nohup: the programs under test would ignore them too, and a shell cannot trap
// what was ignored before it started.
var UnignoreSignals = sync.OnceFunc(func() {
	for _, sig := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
})

// Start starts a program that is killed when the test ends. Prepare may change
// the command first.
func Start(t T, cmd *exec.Cmd, prepare ...func(*exec.Cmd)) *Process {
	t.Helper()
	adoptOrphans()
	dir := t.TempDir()
	p := &Process{t: t, Cmd: cmd, OutFile: filepath.Join(dir, "out"), ErrFile: filepath.Join(dir, "err"), Done: make(chan struct{})}
	cmd.Env = append(os.Environ(), "GORACE="+RaceOptions, "LEASEHOLD_HOLDER=")
	stdout, err := os.Create(p.OutFile)
	if err != nil {
		t.Fatal(err)
	}
	defer stdout.Close()
	stderr, err := os.Create(p.ErrFile)
	if err != nil {
		t.Fatal(err)
	}
	defer stderr.Close()
	cmd.Stdout, cmd.Stderr = stdout, stderr
	for _, change := range prepare {
		change(cmd)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = cmd.Wait()
		close(p.Done)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGCONT)
		_ = cmd.Process.Kill()
		<-p.Done
	})
	return p
}

// Code waits for the end and returns the exit code, or the negative number of the
// signal that ended the process.
func (p *Process) Code() int {
	p.t.Helper()
	select {
	case <-p.Done:
	case <-time.After(Timeout):
		p.t.Fatalf("%q does not end; it wrote %.4000q, %.4000q", p.Cmd.Args, p.Stdout(), p.Stderr())
	}
	status := p.Cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return -int(status.Signal())
	}
	return status.ExitStatus()
}

// CheckCode waits for the end and checks the exit code.
func (p *Process) CheckCode(want int) {
	p.t.Helper()
	if got := p.Code(); got != want {
		p.t.Errorf("%q = %d, want %d; it wrote %.4000q, %.4000q", p.Cmd.Args, got, want, p.Stdout(), p.Stderr())
	}
}

// Signal sends a signal to the process.
func (p *Process) Signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.Cmd.Process.Signal(s); err != nil {
		p.t.Fatalf("signal %v: %v", s, err)
	}
}

// Stdout returns what the process has written to standard output so far.
func (p *Process) Stdout() string { return Read(p.t, p.OutFile) }

// Stderr returns what the process has written to standard error so far.
func (p *Process) Stderr() string { return Read(p.t, p.ErrFile) }

// AwaitOutput waits until standard output has a text.
func (p *Process) AwaitOutput(text string) {
	p.t.Helper()
	Eventually(p.t, "the output has "+text, func() bool { return strings.Contains(p.Stdout(), text) })
}

// AwaitNumber waits for a line WORD=NUMBER on standard output.
func (p *Process) AwaitNumber(word string) (n int) {
	p.t.Helper()
	Eventually(p.t, "the output has "+word+"=NUMBER", func() bool {
		_, rest, _ := strings.Cut(p.Stdout(), word+"=")
		digits, _, complete := strings.Cut(rest, "\n")
		var err error
		n, err = strconv.Atoi(digits)
		return complete && err == nil
	})
	return n
}

// Read returns the content of a file.
func Read(t T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Gone waits until no process has this id, or, if it is negative, is in that
// group. It reaps orphans, as init would.
func Gone(t T, pid int) {
	t.Helper()
	Eventually(t, "process "+strconv.Itoa(pid)+" is gone", func() bool {
		var status syscall.WaitStatus
		_, _ = syscall.Wait4(pid, &status, syscall.WNOHANG, nil)
		return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
	})
}
