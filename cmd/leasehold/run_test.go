//go:build unix

package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/server/auth"
	"github.com/leasehold/leasehold/store/memory"
	"github.com/leasehold/leasehold/test/process"
)

func TestRunExitCodes(t *testing.T) {
	t.Parallel()
	s := newRunServer(t)
	s.hold("held")
	plain, script := filepath.Join(t.TempDir(), "plain"), filepath.Join(t.TempDir(), "script")
	write(t, plain, "exit 5\n", 0o600)
	write(t, script, "exit 6\n", 0o700)
	tests := []struct {
		name string
		args string
		code int
		says string // on standard error
	}{
		{"success", "a -- true", 0, ""},
		{"the command's own", "a -- sh -c exit§7", 7, ""},
		{"a signal", "a -- sh -c kill§-KILL§$$", 128 + 9, ""},
		{"another signal", "a -- sh -c kill§-TERM§$$", 128 + 15, ""},
		{"not found", "a -- no-such-command", 127, "not found"},
		{"not found by path", "a -- /no/such/command", 127, "no such file"},
		{"not executable", "a -- " + plain, 126, "permission denied"},
		{"a directory", "a -- /tmp", 126, "directory"},
		{"a script without an interpreter", "a -- " + script, 6, ""},
		{"held", "-n held -- true", 1, `held by "somebody"`},
		{"held, wait 0", "-w 0 held -- true", 1, `held by "somebody"`},
		{"held, own code", "-n -E 33 held -- true", 33, `held by "somebody"`},
		{"wait ended", "-w 0.1 held -- true", 75, "after waiting"},
		{"wait ended, own code", "-w 100ms -E 33 held -- true", 75, "after waiting"},
		{"exclusive", "-x a -- true", 0, ""},
		{"shared", "-s a -- true", 0, ""},
		{"shared and exclusive", "-s -x a -- true", 64, "give one of them"},
		{"several", "a b -- true", 0, ""},
		{"several, one held", "-n a held -- true", 1, `held by "somebody"`},
		{"several, one held, own code", "-n -E 33 a held -- true", 33, `held by "somebody"`},
		{"the same twice", "a a -- true", 64, "twice"},
		{"paths", "--namespace repo --path src/** --path go.mod -- true", 0, ""},
		{"a bad path", "--namespace repo --path src/ -- true", 64, "segment is empty"},
		{"a path without a namespace", "--path src/** -- true", 64, "--path needs --namespace"},
		{"an empty namespace", "--namespace= --path src/** -- true", 64, "--namespace is empty"},
		{"a namespace without a path", "--namespace repo a -- true", 64, "give --path"},
		{"no dash", "a true", 64, "wants -- before the command"},
		{"no command", "a --", 64, "no command"},
		{"no resource", "-- true", 64, "no resource"},
		{"bad resource", "a\x01 -- true", 64, "resource"},
		{"bad ttl", "--ttl 1ms a -- true", 64, "TTL"},
		{"bad wait", "-w tomorrow a -- true", 64, "duration"},
		{"bad code", "-E 256 a -- true", 64, "0 to 255"},
		{"both", "-n -w 1 a -- true", 64, "-n does not wait"},
		{"bad metadata", "-m x a -- true", 64, "KEY=VALUE"},
		{"infinite", "--ttl infinite a -- true", 0, ""},
		{"no server", "--store http://127.0.0.1:1 a -- true", 69, "unavailable"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var args []string
			for _, arg := range strings.Fields(tt.args) {
				args = append(args, strings.ReplaceAll(arg, "§", " "))
			}
			resource := &runServer{t: t, address: s.address}
			r := resource.start(args...)
			r.CheckCode(tt.code)
			if !strings.Contains(r.Stderr(), tt.says) || tt.says == "" && r.Stderr() != "" {
				t.Errorf("standard error is %q, want %q in it", r.Stderr(), tt.says)
			}
			if got := s.holder("a"); got != "" {
				t.Errorf("after the run %q holds the resource, want nobody", got)
			}
		})
	}
}

// TestRunSaysWhatToDo: a run that does not wait says who holds the lease, until
// when, and how to wait, in the words of this command.
func TestRunSaysWhatToDo(t *testing.T) {
	t.Parallel()
	s := newRunServer(t)
	s.hold("it's held")
	for _, flag := range []string{"-n", "--wait=0"} {
		r := s.start(flag, "it's held", "--", "true")
		r.CheckCode(1)
		for _, want := range []string{`held by "somebody" (token 1) for another `, "→ leasehold run -w 60 … waits in line", `leasehold status 'it'\''s held' shows the queue`} {
			if !strings.Contains(r.Stderr(), want) {
				t.Errorf("run %s says %q, want %q in it", flag, r.Stderr(), want)
			}
		}
		if strings.Contains(r.Stderr(), "leasehold acquire") {
			t.Errorf("run %s says %q, which is about another command", flag, r.Stderr())
		}
	}
}

func write(t *testing.T, file, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func TestRunNotAllowed(t *testing.T) {
	t.Parallel()
	s := newRunServerFor(t, auth.Caller{Name: "reader", Roles: []auth.Role{auth.RoleReader}})
	s.start("a", "--", "true").CheckCode(77)
}

func TestRunEnvironment(t *testing.T) {
	t.Parallel()
	s := newRunServer(t)
	const show = `echo "$LEASEHOLD_RESOURCE,$LEASEHOLD_TOKEN,$LEASEHOLD_HOLDER,${LEASEHOLD_LEASE_ID-none}"; echo "ends $LEASEHOLD_EXPIRES_AT"`
	outer := func(c *exec.Cmd) { c.Env = append(c.Env, "LEASEHOLD_LEASE_ID=outer", "LEASEHOLD_TOKEN=99") }

	r := s.startWith(outer, "--holder", "ann", "a b", "--", "sh", "-c", show)
	r.CheckCode(0)
	first, rest, _ := strings.Cut(r.Stdout(), "\n")
	if want := "a b,1,ann,none"; first != want {
		t.Errorf("the command sees %q, want %q", first, want)
	}
	ends, err := time.Parse("ends "+time.RFC3339, strings.TrimSpace(rest))
	if left := time.Until(ends); err != nil || left < 30*time.Second || left > time.Minute {
		t.Errorf("the command sees %q (%v), want a moment in about a minute", rest, err)
	}

	r = s.startWith(outer, "--ttl", "infinite", "--holder", "ann", "--export-lease-id", "a b", "--", "sh", "-c", show)
	r.CheckCode(0)
	if out := r.Stdout(); !strings.HasPrefix(out, "a b,2,ann,") || strings.Contains(out, "none") || strings.Contains(out, "outer") || !strings.HasSuffix(out, "ends \n") {
		t.Errorf("the command sees %q, want its own lease id and no end", out)
	}
}

// TestRunPassesEverythingThrough: standard input, megabytes of output, a file of
// the user's own; and no file of leasehold's.
func TestRunPassesEverythingThrough(t *testing.T) {
	t.Parallel()
	s := newRunServer(t)
	in := filepath.Join(t.TempDir(), "in")
	write(t, in, strings.Repeat("0123456789abcdef", 1<<20), 0o600) // 16 MiB
	input, err := os.Open(in)
	if err != nil {
		t.Fatal(err)
	}
	defer input.Close()
	extra, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer extra.Close()
	files := func(c *exec.Cmd) {
		c.Stdin = input
		c.ExtraFiles = []*os.File{extra, extra, extra} // 3, 4 and 5
	}
	const script = `cat; for f in /dev/fd/*; do test -e "$f" && echo "open ${f##*/}" >&2; done; true`
	plain := process.Start(t, exec.Command("sh", "-c", script), files) // the test may have been given open files itself
	plain.CheckCode(0)
	if _, err := input.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	r := s.startWith(files, "a", "--", "sh", "-c", script)
	r.CheckCode(0)
	if got, want := sum(t, r.OutFile), sum(t, in); got != want {
		t.Errorf("16 MiB through cat have the sum %s, want %s", got, want)
	}
	if diff := cmp.Diff(plain.Stderr(), r.Stderr()); diff != "" {
		t.Errorf("open files of the command (-without +with leasehold):\n%s", diff)
	}
}

func sum(t *testing.T, file string) string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// TestRunOutputEndsWithTheCommands: a reader of the output sees its end when the
// command closes it, not when the run is over.
func TestRunOutputEndsWithTheCommands(t *testing.T) {
	t.Parallel()
	s := newRunServer(t)
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	r := s.startWith(func(c *exec.Cmd) { c.Stdout = in }, "a", "--", "sh", "-c", "echo all; exec >&-; sleep 600")
	in.Close()
	if all, err := io.ReadAll(out); string(all) != "all\n" || err != nil {
		t.Errorf("the output is %q, %v, want %q", all, err, "all\n")
	}
	r.Signal(syscall.SIGTERM)
	r.CheckCode(128 + 15)
}

func TestRunPassesSignals(t *testing.T) {
	t.Parallel()
	s := newRunServer(t)
	for name, sig := range map[string]syscall.Signal{
		"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "QUIT": syscall.SIGQUIT,
		"USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2, "WINCH": syscall.SIGWINCH, "ALRM": syscall.SIGALRM,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &runServer{t: t, address: s.address}
			r := s.start("signal:"+name, "--", "sh", "-c", "trap 'echo got "+name+"; exit 42' "+name+"; echo ready; while :; do sleep 0.05; done")
			r.AwaitOutput("ready")
			r.Signal(sig)
			r.CheckCode(42)
			if !strings.Contains(r.Stdout(), "got "+name) {
				t.Errorf("the command said %q, want got %s", r.Stdout(), name)
			}
		})
	}
}

// TestRunKeepsIgnoredSignals: a program under nohup stays so.
func TestRunKeepsIgnoredSignals(t *testing.T) {
	t.Parallel()
	s := newRunServer(t)
	path, err := exec.LookPath("leasehold")
	if err != nil {
		t.Fatal(err)
	}
	r := process.Start(t, exec.Command("sh", "-c", `trap "" HUP; exec "$0" "$@"`,
		path, "--store", s.url(), "run", "a", "--", "sh", "-c", "kill -HUP $$; kill -HUP $PPID; echo alive"))
	r.CheckCode(0)
	if r.Stdout() != "alive\n" {
		t.Errorf("the command said %q, want alive", r.Stdout())
	}
}

// TestRunStopsAndGoesOn: a SIGTSTP to the runner stops command and runner, and
// a SIGCONT lets both go on.
func TestRunStopsAndGoesOn(t *testing.T) {
	t.Parallel()
	s := newRunServer(t)
	// A shell that is just starting a program is not stopped, but waits for one
	// that is: this one has started all that it needs.
	r := s.start("a", "--", "sh", "-c", "trap 'echo goes on' CONT; sleep 600 & echo pid=$$; while :; do wait; done")
	command := r.AwaitNumber("pid")
	r.Signal(syscall.SIGTSTP)
	process.Eventually(t, "the command is stopped", func() bool { return state(t, command) == "T" })
	r.Signal(syscall.SIGCONT)
	r.AwaitOutput("goes on")
	r.Signal(syscall.SIGTERM)
	r.CheckCode(128 + 15)
}

// state returns the first letter of a process's state in ps.
func state(t *testing.T, pid int) string {
	t.Helper()
	out, err := exec.Command("ps", "-o", "stat=", "-p", fmt.Sprint(pid)).Output()
	if err != nil || len(out) == 0 {
		return ""
	}
	return string(out[:1])
}

func TestRunWaitsInLine(t *testing.T) {
	t.Parallel()
	s := newRunServer(t)
	release := s.hold("a")
	r := s.start("--verbose", "-w", "10", "--holder", "ann", "a", "--", "echo", "my turn")
	process.Eventually(t, "progress", func() bool { return strings.Contains(r.Stderr(), "1st in line, held by somebody") })
	if r.Stdout() != "" {
		t.Fatalf("the command ran while another held the lease: %q", r.Stdout())
	}
	release()
	r.CheckCode(0)
	if r.Stdout() != "my turn\n" {
		t.Errorf("the command said %q, want my turn", r.Stdout())
	}
}

func TestRunInterruptedInLine(t *testing.T) {
	t.Parallel()
	s := newRunServer(t)
	release := s.hold("a")
	r := s.start("--verbose", "a", "--", "echo", "my turn")
	process.Eventually(t, "progress", func() bool { return strings.Contains(r.Stderr(), "1st in line") })
	r.Signal(syscall.SIGINT)
	r.CheckCode(128 + 2)
	release()
	if got := s.holder("a"); got != "" {
		t.Errorf("after the interruption the lease went to %q, want nobody", got)
	}
}

// TestRunWaitsForWhatIsLeft: the lease is held until the command's process group
// is empty, and the code is the command's all the same.
func TestRunWaitsForWhatIsLeft(t *testing.T) {
	t.Parallel()
	s := newRunServer(t)
	r := s.start("a", "--", "sh", "-c", "(sleep 1.5; echo late) & echo early; exit 4")
	process.Eventually(t, "the notice", func() bool { return strings.Contains(r.Stderr(), "run on") })
	if s.holder("a") == "" {
		t.Error("the lease was released under a process that the command left")
	}
	r.CheckCode(4)
	if want := "early\nlate\n"; r.Stdout() != want {
		t.Errorf("the command and what it left said %q, want %q", r.Stdout(), want)
	}
	if s.holder("a") != "" {
		t.Error("the lease was not released in the end")
	}
}

// TestRunEndsWhatIsLeft: a signal after the command's end is for what it left,
// even where that ignores it.
func TestRunEndsWhatIsLeft(t *testing.T) {
	t.Parallel()
	s := newRunServer(t)
	r := s.start("--kill-after", "0.2", "a", "--", "sh", "-c", `sh -c 'trap "" TERM INT; echo left; sleep 600' & sleep 0.2; exit 4`)
	r.AwaitOutput("left")
	process.Eventually(t, "the notice", func() bool { return strings.Contains(r.Stderr(), "run on") })
	r.Signal(syscall.SIGINT)
	r.CheckCode(4)
}

// olderServer refuses a field that it does not know.
type olderServer struct {
	leasehold.Store
	requests []bool // whether each had it
}

func (s *olderServer) Acquire(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	if s.requests = append(s.requests, r.Sequence); r.Sequence {
		return leasehold.Grant{}, &leasehold.Error{Reason: leasehold.ReasonUnsupported, Field: "sequence"}
	}
	return s.Store.Acquire(ctx, r)
}

func (s *olderServer) Wait(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	return s.Acquire(ctx, r)
}

// TestRunOnAnOlderServer: it cannot refuse a wait that never ends, which is no reason
// not to run.
func TestRunOnAnOlderServer(t *testing.T) {
	m := memory.New()
	defer m.Close()
	older := &olderServer{Store: m}
	s := sequentialStore{older}
	r := leasehold.AcquireRequest{Resource: "a", Holder: "me", ID: leasehold.NewID()}
	for name, call := range map[string]func(context.Context, leasehold.AcquireRequest) (leasehold.Grant, error){"Acquire": s.Acquire, "Wait": s.Wait} {
		older.requests = nil
		if _, err := call(t.Context(), r); err != nil || !slices.Equal(older.requests, []bool{true, false}) {
			t.Errorf("%s = %v after %v, want a grant after one request with the field and one without", name, err, older.requests)
		}
	}
	if _, err := s.Find(t.Context(), r.ID); !errors.Is(err, leasehold.ErrUnsupported) {
		t.Errorf("Find where the store has none = %v, want ErrUnsupported", err)
	}
}
