package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// These tests have leasehold run as a user without privileges, and under it a
// command that becomes another user, as one under sudo does. The runner is given
// the right to change its user, which stands in for the set-uid bit of sudo: it
// works where temporary directories are mounted without such bits. The right to
// signal other users' processes it has not.
const (
	runnerUID  = 65534
	commandUID = 64999
)

// foreign is a command of another user: it is deaf to SIGTERM, tells the ids of
// itself and of the guardian, and lives until somebody may kill it.
func foreign() []string {
	return []string{
		"setpriv", fmt.Sprintf("--reuid=%d", commandUID), "--inh-caps=-all", "--ambient-caps=-all",
		"sh", "-c", `trap "" TERM; echo guardian=$PPID; echo pid=$$; while :; do sleep 0.1; done`,
	}
}

// startForeign runs the foreign command under a lease of a runner without
// privileges.
func (s *runServer) startForeign(args ...string) *running {
	s.t.Helper()
	if os.Geteuid() != 0 {
		s.t.Skip("needs root: a command that changes its user is to be started by a runner of a third")
	}
	args = append([]string{"--store", s.url(), "run"}, args...)
	return startProcess(s.t, exec.Command(publicProgram(s.t), append(args, foreign()...)...), func(c *exec.Cmd) {
		c.Dir = "/"
		c.SysProcAttr = &syscall.SysProcAttr{
			Credential:  &syscall.Credential{Uid: runnerUID, Gid: runnerUID, NoSetGroups: true},
			AmbientCaps: []uintptr{unix.CAP_SETUID},
		}
	})
}

// publicProgram is a copy of the program that every user may run. Another process
// copies it: a file that this one has open for writing, any process that it starts
// meanwhile has too, and then nobody can run it.
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

// warns waits until the run has said all of these on standard error.
func (r *running) warns(texts ...string) {
	r.t.Helper()
	for _, text := range texts {
		eventually(r.t, fmt.Sprintf("standard error says %q, not only %q", text, r.stderr()), func() bool {
			return strings.Contains(r.stderr(), text)
		})
	}
}

// killForeign does what the runner may not.
func killForeign(t *testing.T, command int) {
	t.Helper()
	if err := syscall.Kill(-command, syscall.SIGKILL); err != nil {
		t.Fatalf("kill the group of %d: %v", command, err)
	}
}

// cannotStop is what is said of a command.
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
	command := first.number("pid")
	s.lossy.Store(true)
	first.warns(cannotStop(command), "may not be signalled by this user", fmt.Sprintf("kill -KILL -- -%d", command),
		"the lease on a is renewed until the command ends")
	s.lossy.Store(false)
	second := s.start("--ttl", shortTTL, "a", "--", "echo", "second")
	seen := s.renewals("a")
	eventually(t, "the lease is renewed for longer than its ttl", func() bool { return s.renewals("a") > seen+3 })
	if state(t, command) == "" || second.stdout() != "" {
		t.Fatalf("the command is in state %q and the next one said %q, want the one running and the other waiting", state(t, command), second.stdout())
	}
	eventually(t, "the next one is in line", func() bool { return s.waiters("a") == 1 })
	killForeign(t, command)
	first.wantCode(79)
	second.wantCode(0)
}

// TestRunForeignSignal: whoever ends the run hears that the command runs on, and
// nothing happens to the lease.
func TestRunForeignSignal(t *testing.T) {
	t.Parallel()
	s := newRunServer(t)
	r := s.startForeign("--ttl", shortTTL, "a", "--")
	command := r.number("pid")
	r.signal(syscall.SIGTERM)
	r.warns(cannotStop(command), "the lease on a is held until the command ends")
	if s.holder("a") == "" {
		t.Error("nobody holds the lease while the command runs")
	}
	killForeign(t, command)
	r.wantCode(137)
}

// TestRunForeignBroken: what the store has ended cannot be kept, and that is
// said.
func TestRunForeignBroken(t *testing.T) {
	t.Parallel()
	s := newRunServer(t)
	r := s.startForeign("--ttl", shortTTL, "a", "--")
	command := r.number("pid")
	s.breakLease("a", 0)
	r.warns(cannotStop(command), "the lease on a is over, and the next holder may run beside the command", "broken")
	killForeign(t, command)
	r.wantCode(79)
}

// TestRunForeignKilledRunner: nobody renews. The guardian says so, and stays
// with the command.
func TestRunForeignKilledRunner(t *testing.T) {
	t.Parallel()
	s := newRunServer(t)
	r := s.startForeign("--kill-after", "100ms", "a", "--")
	command, guardian := r.number("pid"), r.number("guardian")
	r.signal(syscall.SIGKILL)
	r.warns(cannotStop(command), "leasehold run itself is gone, and nobody renews the lease")
	if state(t, command) == "" || state(t, guardian) == "" {
		t.Error("the command or its guardian is gone, want both to go on")
	}
	killForeign(t, command)
	gone(t, guardian)
	gone(t, -command)
}

// TestRunForeignKilledGuardian: the runner cannot kill the command either. It
// keeps the lease until the command ends.
func TestRunForeignKilledGuardian(t *testing.T) {
	t.Parallel()
	s := newRunServer(t)
	r := s.startForeign("--ttl", shortTTL, "a", "--")
	command, guardian := r.number("pid"), r.number("guardian")
	if err := syscall.Kill(guardian, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	r.warns(cannotStop(command), "the lease on a is held until the command ends")
	seen := s.renewals("a")
	eventually(t, "the lease is renewed for longer than its ttl", func() bool { return s.renewals("a") > seen+1 })
	killForeign(t, command)
	r.wantCode(70)
	r.warns("which could not be killed, ran on until it ended")
}

// TestRunForeignStoppedGuardian: the runner notices by itself.
func TestRunForeignStoppedGuardian(t *testing.T) {
	t.Parallel()
	s := newRunServer(t)
	r := s.startForeign("--ttl", shortTTL, "a", "--")
	command, guardian := r.number("pid"), r.number("guardian")
	if err := syscall.Kill(guardian, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	s.lossy.Store(true)
	r.warns(cannotStop(command), "the lease on a is renewed until the command ends")
	s.lossy.Store(false)
	if err := syscall.Kill(guardian, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	killForeign(t, command)
	r.wantCode(79)
}
