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

	"github.com/leasehold/leasehold/wire"
)

// shortTTL is a lease that ends soon but leaves the guardian the time that a
// busy machine needs: SIGKILL comes a fifth of a second before the end.
const shortTTL = "4s"

// family is a command with a child in its group: both ignore SIGTERM, and tell
// their ids and that of the guardian.
const family = `trap "" TERM; echo guardian=$PPID; sh -c 'echo grandchild=$$; while :; do sleep 0.1; done' & echo pid=$$; while :; do sleep 0.1; done`

// polite is a command that says that it was asked to end.
const polite = `trap 'echo asked; exit 9' TERM; echo guardian=$PPID; echo pid=$$; while :; do sleep 0.02; done`

// diary is a command that cannot be asked to end, and writes a line into a file
// that all share as long as it lives.
func diary(file, name string) []string {
	script := fmt.Sprintf(`trap "" TERM; echo guardian=$PPID; echo pid=$$; while :; do echo %s >>'%s'; sleep 0.02; done`, name, file)
	return []string{"sh", "-c", script}
}

// wantTurns fails if anybody wrote before another and after it as well: then
// the two ran beside each other. The appends to one file have one order.
func wantTurns(t *testing.T, file string, names ...string) {
	t.Helper()
	var turns []string
	for lines := bufio.NewScanner(strings.NewReader(whole(t, file))); lines.Scan(); {
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
	r.says("pid=")
	s.breakLease("a", 0)
	r.wantCode(79)
	if !strings.Contains(r.stdout(), "asked") {
		t.Error("the command was not asked to end")
	}
	if !strings.Contains(r.stderr(), "was lost under the command, which ended with 9") {
		t.Errorf("standard error is %q, want that the lease was lost", r.stderr())
	}
}

// TestRunBreakingLease: the command is gone before the period is over, when the
// next in line gets its turn.
func TestRunBreakingLease(t *testing.T) {
	t.Parallel()
	s := newRunServer(t)
	file := filepath.Join(t.TempDir(), "diary")
	first := s.start(append([]string{"--ttl", "9s", "--verbose", "a", "--"}, diary(file, "first")...)...)
	first.says("pid=")
	second := s.start("a", "--", "sh", "-c", "echo second >>'"+file+"'")
	s.breakLease("a", 8900*time.Millisecond) // noticed at the next renewal, after 6 s
	first.wantCode(79)
	second.wantCode(0)
	wantTurns(t, file, "first", "second")
	if !strings.Contains(first.stderr(), "is being broken") {
		t.Errorf("standard error is %q, want that the lease is being broken", first.stderr())
	}
}

// TestRunServerGone: nobody answers for longer than the ttl. The command is gone
// before the lease is, which the next in line gets as soon as it ends.
func TestRunServerGone(t *testing.T) {
	t.Parallel()
	s := newRunServer(t)
	file := filepath.Join(t.TempDir(), "diary")
	r := s.start(append([]string{"--ttl", shortTTL, "a", "--"}, diary(file, "first")...)...)
	command := r.number("pid")
	s.shut()
	eventually(t, "the end of the lease", func() bool { return s.holder("a") == "" })
	before := whole(t, file)
	gone(t, -command)
	if whole(t, file) != before {
		t.Error("the command wrote after its lease had ended")
	}
	r.wantCode(79)
	wantTurns(t, file, "first")
}

// TestRunServerRestart: a server that comes back in time costs nothing, and
// knows the lease from its database.
func TestRunServerRestart(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	serve := func(listen string) (*running, string) {
		path, err := exec.LookPath("leasehold")
		if err != nil {
			t.Fatal(err)
		}
		server := startProcess(t, exec.Command(path, "serve", "--listen", listen, "--blob-listen", "off", "--data", data), func(*exec.Cmd) {})
		server.says("\n")
		line, _, _ := strings.Cut(server.stdout(), "\n")
		return server, strings.TrimPrefix(jsonDoor(line), "http://")
	}
	server, address := serve("127.0.0.1:0")
	s := &runServer{t: t, address: address}
	end := filepath.Join(t.TempDir(), "end")
	r := s.start("--ttl", "9s", "--verbose", "a", "--", "sh", "-c",
		"echo token=$LEASEHOLD_TOKEN; while [ ! -e '"+end+"' ]; do sleep 0.05; done; echo through")
	token := r.number("token")
	server.signal(syscall.SIGKILL)
	<-server.done
	time.Sleep(500 * time.Millisecond) // the server is away for a while
	serve(address)
	eventually(t, "a renewal after the restart", func() bool { return renewalsAt(t, address, "a") > 0 })
	if err := os.WriteFile(end, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r.wantCode(0)
	if !strings.Contains(r.stdout(), "through") {
		t.Errorf("the command said %q, want that it got through", r.stdout())
	}
	next := s.start("a", "--", "sh", "-c", "echo token=$LEASEHOLD_TOKEN")
	next.wantCode(0)
	if got := next.number("token"); got != token+1 {
		t.Errorf("the next token is %d, want %d: one lease before", got, token+1)
	}
}

// renewalsAt asks a server in another process how often a lease was renewed.
func renewalsAt(t *testing.T, address, resource string) int {
	t.Helper()
	answer, err := http.Get("http://" + address + "/v1/resource?resource=" + resource)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var status wire.Resource
	if err := json.NewDecoder(answer.Body).Decode(&status); err != nil || status.Lease == nil {
		t.Fatalf("the status of %s is %+v, %v", resource, status, err)
	}
	return status.Lease.Renewals
}

// TestRunStoppedRunner: SIGSTOP to the runner alone. The guardian ends the
// command in time, and the next in line never runs beside it.
func TestRunStoppedRunner(t *testing.T) {
	t.Parallel()
	s := newRunServer(t)
	file := filepath.Join(t.TempDir(), "diary")
	first := s.start(append([]string{"--ttl", shortTTL, "a", "--"}, diary(file, "first")...)...)
	command := first.number("pid")
	second := s.start(append([]string{"--ttl", shortTTL, "a", "--"}, diary(file, "second")...)...)
	eventually(t, "the first renewal, which moves the deadline", func() bool { return s.renewals("a") > 0 })
	first.signal(syscall.SIGSTOP)
	second.says("pid=")
	gone(t, -command)
	eventually(t, "the second writes", func() bool { return strings.Contains(whole(t, file), "second") })
	first.signal(syscall.SIGCONT)
	first.wantCode(79)
	time.Sleep(100 * time.Millisecond) // a first that lived on would write again
	second.signal(syscall.SIGKILL)
	gone(t, second.number("guardian"))
	gone(t, -second.number("pid"))
	wantTurns(t, file, "first", "second")
}

func whole(t *testing.T, file string) string {
	t.Helper()
	out, err := exec.Command("cat", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestRunKilledRunner: nobody renews any more, so the command goes at once.
func TestRunKilledRunner(t *testing.T) {
	t.Parallel()
	s := newRunServer(t)
	r := s.start("a", "--", "sh", "-c", polite)
	command, guardian := r.number("pid"), r.number("guardian")
	r.signal(syscall.SIGKILL)
	r.says("asked")
	gone(t, -command)
	gone(t, guardian)
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
	command, child, guardian := r.number("pid"), r.number("grandchild"), r.number("guardian")
	r.signal(syscall.SIGKILL)
	gone(t, child)
	gone(t, -command)
	gone(t, guardian)
}

// TestRunKilledGuardian: the runner kills the whole group and gives the lease
// back.
func TestRunKilledGuardian(t *testing.T) {
	t.Parallel()
	s := newRunServer(t)
	r := s.start("a", "--", "sh", "-c", family)
	command, child, guardian := r.number("pid"), r.number("grandchild"), r.number("guardian")
	if err := syscall.Kill(guardian, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	r.wantCode(70)
	for _, pid := range []int{child, -command, guardian} {
		if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
			t.Errorf("after the run process %d is there (%v)", pid, err)
		}
	}
	if holder := s.holder("a"); holder != "" {
		t.Errorf("after the run %q holds the lease", holder)
	}
}

// TestRunStoppedGuardian: the runner does its work.
func TestRunStoppedGuardian(t *testing.T) {
	t.Parallel()
	s := newRunServer(t)
	file := filepath.Join(t.TempDir(), "diary")
	r := s.start(append([]string{"--ttl", shortTTL, "a", "--"}, diary(file, "first")...)...)
	command, guardian := r.number("pid"), r.number("guardian")
	if err := syscall.Kill(guardian, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	s.shut()
	eventually(t, "the command is dead", func() bool { return state(t, command) == "Z" })
	if s.holder("a") == "" {
		t.Error("the lease ended before the command")
	}
	if err := syscall.Kill(guardian, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	r.wantCode(79)
	gone(t, -command)
}

// TestRunGrandchildren: what the command started goes with it, and no zombie
// stays.
func TestRunGrandchildren(t *testing.T) {
	t.Parallel()
	s := newRunServer(t)
	r := s.start("--ttl", shortTTL, "--kill-after", "100ms", "a", "--", "sh", "-c", family)
	command, child, guardian := r.number("pid"), r.number("grandchild"), r.number("guardian")
	s.breakLease("a", 0)
	r.wantCode(79)
	for _, pid := range []int{child, -command, guardian} {
		if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
			t.Errorf("after the run process %d is there (%v)", pid, err)
		}
	}
}
