package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/leasehold/leasehold/test/process"
	"golang.org/x/sys/unix"
)

// These tests have leasehold run as a user without privileges, and under it a
// command that becomes another user, as one under sudo does. The runner is given
// the right to change its user, which stands in for the set-uid bit of sudo: it
// works where temporary directories are mounted without such bits. It has no right
// to signal other users' processes.
const (
	runnerUID  = 65534
	commandUID = 64999
)

// foreign is a command of another user: it ignores SIGTERM, writes its id and that
// of the guardian, and lives until it is killed.
func foreign() []string {
	return []string{
		"setpriv", fmt.Sprintf("--reuid=%d", commandUID), "--inh-caps=-all", "--ambient-caps=-all",
		"sh", "-c", `trap "" TERM; echo guardian=$PPID; echo pid=$$; while :; do sleep 0.1; done`,
	}
}

// startForeign runs the foreign command under a lease of a runner without
// privileges.
func (s *runServer) startForeign(args ...string) *process.Process {
	s.t.Helper()
	if os.Geteuid() != 0 {
		s.t.Skip("needs root: a command that changes its user is to be started by a runner of a third")
	}
	args = append([]string{"--store", s.url(), "run"}, args...)
	return process.Start(s.t, exec.Command(publicProgram(s.t), append(args, foreign()...)...), func(c *exec.Cmd) {
		c.Dir = "/"
		c.SysProcAttr = &syscall.SysProcAttr{
			Credential:  &syscall.Credential{Uid: runnerUID, Gid: runnerUID, NoSetGroups: true},
			AmbientCaps: []uintptr{unix.CAP_SETUID},
		}
	})
}

// publicProgram returns a copy of the program that every user may run. Another
// process copies it: a file that this one has open for writing is also open in the
// processes that other tests start meanwhile, and then nobody can run it.
func publicProgram(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("leasehold")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "leasehold-public")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "leasehold")
	if out, err := exec.Command("install", "-m", "755", path, program).CombinedOutput(); err != nil {
		t.Fatalf("install: %v: %s", err, out)
	}
	return program
}

// awaitWarnings waits until the run has written all of these to standard error.
func awaitWarnings(t *testing.T, r *process.Process, texts ...string) {
	t.Helper()
	for _, text := range texts {
		process.Eventually(t, fmt.Sprintf("standard error has %q, not only %q", text, r.Stderr()), func() bool {
			return strings.Contains(r.Stderr(), text)
		})
	}
}

// killForeign kills the command's group, as the runner may not.
func killForeign(t *testing.T, command int) {
	t.Helper()
	if err := syscall.Kill(-command, syscall.SIGKILL); err != nil {
		t.Fatalf("kill the group of %d: %v", command, err)
	}
}

// cannotStop is the warning about a command.
func cannotStop(command int) string {
	return fmt.Sprintf("the command cannot be stopped: process %d (\"sh\", uid %d)", command, commandUID)
}

// TestRunForeignKeepsTheLease: answers are lost until the command has to go,
// which it does not, since it may not be signalled. The lease is renewed as long
// as it runs, and the next in line has to wait for its end.
func TestRunForeignKeepsTheLease(t *testing.T) {
	t.Parallel()
	s := newRunServer(t)
	first := s.startForeign("--ttl", shortTTL, "a", "--")
	command := first.AwaitNumber("pid")
	s.lossy.Store(true)
	awaitWarnings(t, first, cannotStop(command), "may not be signalled by this user", fmt.Sprintf("kill -KILL -- -%d", command),
		"the lease on a is renewed until the command ends")
	s.lossy.Store(false)
	second := s.start("--ttl", shortTTL, "a", "--", "echo", "second")
	seen := s.renewals("a")
	process.Eventually(t, "the lease is renewed for longer than its ttl", func() bool { return s.renewals("a") > seen+3 })
	if state(t, command) == "" || second.Stdout() != "" {
		t.Fatalf("the command is in state %q and the next one said %q, want the one running and the other waiting", state(t, command), second.Stdout())
	}
	process.Eventually(t, "the next one is in line", func() bool { return s.waiters("a") == 1 })
	killForeign(t, command)
	first.CheckCode(79)
	second.CheckCode(0)
}

// TestRunForeignSignal: a signal that should end the run warns that the command runs
// on, and nothing happens to the lease.
func TestRunForeignSignal(t *testing.T) {
	t.Parallel()
	s := newRunServer(t)
	r := s.startForeign("--ttl", shortTTL, "a", "--")
	command := r.AwaitNumber("pid")
	r.Signal(syscall.SIGTERM)
	awaitWarnings(t, r, cannotStop(command), "the lease on a is held until the command ends")
	if s.holder("a") == "" {
		t.Error("nobody holds the lease while the command runs")
	}
	killForeign(t, command)
	r.CheckCode(137)
}

// TestRunForeignBroken: a lease that the store has ended cannot be kept; the run
// warns.
func TestRunForeignBroken(t *testing.T) {
	t.Parallel()
	s := newRunServer(t)
	r := s.startForeign("--ttl", shortTTL, "a", "--")
	command := r.AwaitNumber("pid")
	s.breakLease("a", 0)
	awaitWarnings(t, r, cannotStop(command), "the lease on a is over, and the next holder may run beside the command", "broken")
	killForeign(t, command)
	r.CheckCode(79)
}

// TestRunForeignKilledRunner: nobody renews. The guardian says so, and stays
// with the command.
func TestRunForeignKilledRunner(t *testing.T) {
	t.Parallel()
	s := newRunServer(t)
	r := s.startForeign("--kill-after", "100ms", "a", "--")
	command, guardian := r.AwaitNumber("pid"), r.AwaitNumber("guardian")
	r.Signal(syscall.SIGKILL)
	awaitWarnings(t, r, cannotStop(command), "leasehold run itself is gone, and nobody renews the lease")
	if state(t, command) == "" || state(t, guardian) == "" {
		t.Error("the command or its guardian is gone, want both to go on")
	}
	killForeign(t, command)
	process.Gone(t, guardian)
	process.Gone(t, -command)
}

// TestRunForeignKilledGuardian: the runner cannot kill the command either. It
// keeps the lease until the command ends.
func TestRunForeignKilledGuardian(t *testing.T) {
	t.Parallel()
	s := newRunServer(t)
	r := s.startForeign("--ttl", shortTTL, "a", "--")
	command, guardian := r.AwaitNumber("pid"), r.AwaitNumber("guardian")
	if err := syscall.Kill(guardian, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitWarnings(t, r, cannotStop(command), "the lease on a is held until the command ends")
	seen := s.renewals("a")
	process.Eventually(t, "the lease is renewed for longer than its ttl", func() bool { return s.renewals("a") > seen+1 })
	killForeign(t, command)
	r.CheckCode(70)
	awaitWarnings(t, r, "which could not be killed, ran on until it ended")
}

// TestRunForeignStoppedGuardian: the runner notices by itself.
func TestRunForeignStoppedGuardian(t *testing.T) {
	t.Parallel()
	s := newRunServer(t)
	r := s.startForeign("--ttl", shortTTL, "a", "--")
	command, guardian := r.AwaitNumber("pid"), r.AwaitNumber("guardian")
	if err := syscall.Kill(guardian, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	s.lossy.Store(true)
	awaitWarnings(t, r, cannotStop(command), "the lease on a is renewed until the command ends")
	s.lossy.Store(false)
	if err := syscall.Kill(guardian, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	killForeign(t, command)
	r.CheckCode(79)
}
