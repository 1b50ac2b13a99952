//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/leasehold/leasehold/test/process"
	"github.com/leasehold/leasehold/wire"
)

// shortTTL ends soon, but leaves the guardian the time that a busy machine needs:
// SIGKILL comes a fifth of a second before the end.
const shortTTL = "4s"

// family is a command with a child in its group: both ignore SIGTERM, and write
// their ids and that of the guardian.
const family = `trap "" TERM; echo guardian=$PPID; sh -c 'echo grandchild=$$; while :; do sleep 0.1; done' & echo pid=$$; while :; do sleep 0.1; done`

// polite is a command that ends on SIGTERM, and says so.
const polite = `trap 'echo asked; exit 9' TERM; echo guardian=$PPID; echo pid=$$; while :; do sleep 0.02; done`

// diary is a command that ignores SIGTERM and appends its name to a file until it
// is killed.
func diary(file, name string) []string {
	script := fmt.Sprintf(`trap "" TERM; echo guardian=$PPID; echo pid=$$; while :; do echo %s >>'%s'; sleep 0.02; done`, name, file)
	return []string{"sh", "-c", script}
}

// wantTurns fails if a command wrote both before and after another: then the two ran
// at the same time. The appends to one file have one order.
func wantTurns(t *testing.T, file string, names ...string) {
	t.Helper()
	var turns []string
	for lines := bufio.NewScanner(strings.NewReader(process.Read(t, file))); lines.Scan(); {
		if len(turns) == 0 || turns[len(turns)-1] != lines.Text() {
			turns = append(turns, lines.Text())
		}
	}
	if fmt.Sprint(turns) != fmt.Sprint(names) {
		t.Errorf("the commands ran in the order %v, want %v", turns, names)
	}
}

func TestRunBrokenLease(t *testing.T) {
	t.Parallel()
	s := newRunServer(t)
	r := s.start("--ttl", shortTTL, "a", "--", "sh", "-c", polite)
	r.AwaitOutput("pid=")
	s.breakLease("a", 0)
	r.CheckCode(79)
	if !strings.Contains(r.Stdout(), "asked") {
		t.Error("the command was not asked to end")
	}
	if !strings.Contains(r.Stderr(), "was lost under the command, which ended with 9") {
		t.Errorf("standard error is %q, want that the lease was lost", r.Stderr())
	}
}

// TestRunBreakingLease: the command is gone before the period is over, when the
// next in line gets its turn.
func TestRunBreakingLease(t *testing.T) {
	t.Parallel()
	s := newRunServer(t)
	file := filepath.Join(t.TempDir(), "diary")
	first := s.start(append([]string{"--ttl", "9s", "--verbose", "a", "--"}, diary(file, "first")...)...)
	first.AwaitOutput("pid=")
	second := s.start("a", "--", "sh", "-c", "echo second >>'"+file+"'")
	s.breakLease("a", 8900*time.Millisecond) // noticed at the next renewal, after 6 s
	first.CheckCode(79)
	second.CheckCode(0)
	wantTurns(t, file, "first", "second")
	if !strings.Contains(first.Stderr(), "is being broken") {
		t.Errorf("standard error is %q, want that the lease is being broken", first.Stderr())
	}
}

// TestRunServerGone: nobody answers for longer than the ttl. The command is gone
// before the lease is, which the next in line gets as soon as it ends.
func TestRunServerGone(t *testing.T) {
	t.Parallel()
	s := newRunServer(t)
	file := filepath.Join(t.TempDir(), "diary")
	r := s.start(append([]string{"--ttl", shortTTL, "a", "--"}, diary(file, "first")...)...)
	command := r.AwaitNumber("pid")
	s.close()
	process.Eventually(t, "the end of the lease", func() bool { return s.holder("a") == "" })
	before := process.Read(t, file)
	process.Gone(t, -command)
	if process.Read(t, file) != before {
		t.Error("the command wrote after its lease had ended")
	}
	r.CheckCode(79)
	wantTurns(t, file, "first")
}

// TestRunServerRestart: a server that comes back in time costs nothing, and
// knows the lease from its database.
func TestRunServerRestart(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	server, s := startServer(t, "127.0.0.1:0", data)
	end := filepath.Join(t.TempDir(), "end")
	r := s.start("--ttl", "9s", "--verbose", "a", "--", "sh", "-c",
		"echo token=$LEASEHOLD_TOKEN; while [ ! -e '"+end+"' ]; do sleep 0.05; done; echo through")
	token := r.AwaitNumber("token")
	server.Signal(syscall.SIGKILL)
	<-server.Done
	time.Sleep(500 * time.Millisecond) // the server is away for a while
	startServer(t, s.address, data)
	process.Eventually(t, "a renewal after the restart", func() bool { return statusAt(t, s.address, "a").Lease.Renewals > 0 })
	if err := os.WriteFile(end, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r.CheckCode(0)
	if !strings.Contains(r.Stdout(), "through") {
		t.Errorf("the command said %q, want that it got through", r.Stdout())
	}
	next := s.start("a", "--", "sh", "-c", "echo token=$LEASEHOLD_TOKEN")
	next.CheckCode(0)
	if got := next.AwaitNumber("token"); got != token+1 {
		t.Errorf("the next token is %d, want %d: one lease before", got, token+1)
	}
}

// startServer serves a data directory in another process.
func startServer(t *testing.T, listen, data string) (*process.Process, *runServer) {
	t.Helper()
	path, err := exec.LookPath("leasehold")
	if err != nil {
		t.Fatal(err)
	}
	server := process.Start(t, exec.Command(path, "serve", "--listen", listen, "--blob-listen", "off", "--data", data))
	server.AwaitOutput("\n")
	line, _, _ := strings.Cut(server.Stdout(), "\n")
	return server, &runServer{t: t, address: strings.TrimPrefix(process.ServerURL(line), "http://")}
}

// statusAt returns the status of a resource at a server in another process.
func statusAt(t *testing.T, address, resource string) (status wire.Resource) {
	t.Helper()
	answer, err := http.Get("http://" + address + "/v1/resource?resource=" + resource)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(&status); err != nil || status.Lease == nil {
		t.Fatalf("the status of %s is %+v, %v", resource, status, err)
	}
	return status
}

// TestRunServerHangs: a server stands still for longer than the ttl, while its
// clock goes on. The command is gone before the server can give the lease to the
// next in line.
func TestRunServerHangs(t *testing.T) {
	t.Parallel()
	process.UnignoreSignals()
	server, s := startServer(t, "127.0.0.1:0", t.TempDir())
	file := filepath.Join(t.TempDir(), "diary")
	first := s.start(append([]string{"--ttl", shortTTL, "--holder", "first", "a", "--"}, diary(file, "first")...)...)
	command := first.AwaitNumber("pid")
	second := s.start("--holder", "second", "a", "--", "sh", "-c", "echo second >>'"+file+"'")
	process.Eventually(t, "the second is in line", func() bool {
		waiters := statusAt(t, s.address, "a").Waiters
		return len(waiters) == 1 && waiters[0].Holder == "second"
	})
	server.Signal(syscall.SIGSTOP)
	process.Gone(t, -command)
	server.Signal(syscall.SIGCONT)
	first.CheckCode(79)
	second.CheckCode(0)
	wantTurns(t, file, "first", "second")
}

// TestRunStoppedRunner: SIGSTOP to the runner alone. The guardian ends the
// command in time, and the next in line never runs beside it.
func TestRunStoppedRunner(t *testing.T) {
	t.Parallel()
	s := newRunServer(t)
	file := filepath.Join(t.TempDir(), "diary")
	first := s.start(append([]string{"--ttl", shortTTL, "a", "--"}, diary(file, "first")...)...)
	command := first.AwaitNumber("pid")
	second := s.start(append([]string{"--ttl", shortTTL, "a", "--"}, diary(file, "second")...)...)
	process.Eventually(t, "the first renewal, which moves the deadline", func() bool { return s.renewals("a") > 0 })
	first.Signal(syscall.SIGSTOP)
	second.AwaitOutput("pid=")
	process.Gone(t, -command)
	process.Eventually(t, "the second writes", func() bool { return strings.Contains(process.Read(t, file), "second") })
	first.Signal(syscall.SIGCONT)
	first.CheckCode(79)
	time.Sleep(100 * time.Millisecond) // a first that lived on would write again
	second.Signal(syscall.SIGKILL)
	process.Gone(t, second.AwaitNumber("guardian"))
	process.Gone(t, -second.AwaitNumber("pid"))
	wantTurns(t, file, "first", "second")
}

// TestRunKilledRunner: nobody renews any more, so the command goes at once.
func TestRunKilledRunner(t *testing.T) {
	t.Parallel()
	s := newRunServer(t)
	r := s.start("a", "--", "sh", "-c", polite)
	command, guardian := r.AwaitNumber("pid"), r.AwaitNumber("guardian")
	r.Signal(syscall.SIGKILL)
	r.AwaitOutput("asked")
	process.Gone(t, -command)
	process.Gone(t, guardian)
	if s.holder("a") == "" {
		t.Error("the lease was released by nobody")
	}
}

// TestRunKilledRunnerDeafCommand: a command that ignores SIGTERM, and its child,
// are killed when the grace is over, long before the lease ends.
func TestRunKilledRunnerDeafCommand(t *testing.T) {
	t.Parallel()
	s := newRunServer(t)
	r := s.start("--kill-after", "300ms", "a", "--", "sh", "-c", family)
	command, child, guardian := r.AwaitNumber("pid"), r.AwaitNumber("grandchild"), r.AwaitNumber("guardian")
	r.Signal(syscall.SIGKILL)
	process.Gone(t, child)
	process.Gone(t, -command)
	process.Gone(t, guardian)
}

// TestRunKilledGuardian: the runner kills the whole group and releases the lease.
func TestRunKilledGuardian(t *testing.T) {
	t.Parallel()
	s := newRunServer(t)
	r := s.start("a", "--", "sh", "-c", family)
	command, child, guardian := r.AwaitNumber("pid"), r.AwaitNumber("grandchild"), r.AwaitNumber("guardian")
	if err := syscall.Kill(guardian, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	r.CheckCode(70)
	for _, pid := range []int{child, -command, guardian} {
		if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
			t.Errorf("after the run process %d is there (%v)", pid, err)
		}
	}
	if holder := s.holder("a"); holder != "" {
		t.Errorf("after the run %q holds the lease", holder)
	}
}

// TestRunStoppedGuardian: the runner kills the command in its place.
func TestRunStoppedGuardian(t *testing.T) {
	t.Parallel()
	s := newRunServer(t)
	file := filepath.Join(t.TempDir(), "diary")
	r := s.start(append([]string{"--ttl", shortTTL, "a", "--"}, diary(file, "first")...)...)
	command, guardian := r.AwaitNumber("pid"), r.AwaitNumber("guardian")
	if err := syscall.Kill(guardian, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	s.close()
	process.Eventually(t, "the command is dead", func() bool { return state(t, command) == "Z" })
	if s.holder("a") == "" {
		t.Error("the lease ended before the command")
	}
	if err := syscall.Kill(guardian, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	r.CheckCode(79)
	process.Gone(t, -command)
}

// TestRunGrandchildren: the command's children are ended with it, and no zombie is
// left.
func TestRunGrandchildren(t *testing.T) {
	t.Parallel()
	s := newRunServer(t)
	r := s.start("--ttl", shortTTL, "--kill-after", "100ms", "a", "--", "sh", "-c", family)
	command, child, guardian := r.AwaitNumber("pid"), r.AwaitNumber("grandchild"), r.AwaitNumber("guardian")
	s.breakLease("a", 0)
	r.CheckCode(79)
	for _, pid := range []int{child, -command, guardian} {
		if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
			t.Errorf("after the run process %d is there (%v)", pid, err)
		}
	}
}
