//go:build unix

package guard

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestContinueOvertakesStop: a SIGCONT before the report that the command was stopped
// keeps the runner from stopping afterwards.
func TestContinueOvertakesStop(t *testing.T) {
	_, orders, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer orders.Close()
	r := &runner{group: group(os.Getpid()), orders: orders, terminal: &terminal{fd: -1}}
	r.pass(syscall.SIGTSTP)
	if !r.suspendAlone {
		t.Error("after SIGTSTP nobody asked for a stop")
	}
	r.pass(syscall.SIGCONT)
	if r.suspendAlone {
		t.Error("after SIGCONT the runner would still stop itself when it hears of the command's stop")
	}
}

// fakeLease is a lease without a store.
type fakeLease struct {
	lost    chan struct{}
	changed chan struct{}

	mu        sync.Mutex
	line, end time.Time // zero: none
}

func newFakeLease() *fakeLease {
	return &fakeLease{lost: make(chan struct{}), changed: make(chan struct{}, 1)}
}

// renew sets line and end, counted from now.
func (l *fakeLease) renew(line, end time.Duration) *fakeLease {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.line, l.end = time.Now().Add(line), time.Now().Add(end)
	select {
	case l.changed <- struct{}{}:
	default:
	}
	return l
}

func (l *fakeLease) Lost() <-chan struct{}    { return l.lost }
func (l *fakeLease) Changed() <-chan struct{} { return l.changed }

func (l *fakeLease) Remaining() (line, end time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.end.IsZero() {
		return -1, -1
	}
	return max(time.Until(l.line), 0), max(time.Until(l.end), 0)
}

func shell(script string) *Command {
	return &Command{
		Path: "/bin/sh", Args: []string{"sh", "-c", script}, Grace: 5 * time.Second,
		Env:     append(os.Environ(), "GORACE=atexit_sleep_ms=0"), // each role would sleep at its end
		Started: func() {}, Guardian: testGuardian,
	}
}

func run(t *testing.T, c *Command, l Lease) (Outcome, error) {
	t.Helper()
	return Run(c, l, Signals(), func(s string) { t.Log(s) })
}

func TestRunWithoutAnEnd(t *testing.T) {
	for script, code := range map[string]int{"exit 0": 0, "exit 5": 5, "kill -9 $$": 137} {
		got, err := run(t, shell(script), newFakeLease())
		if want := (Outcome{Code: code}); got != want || err != nil {
			t.Errorf("Run(%q) = %+v, %v, want %+v", script, got, err, want)
		}
	}
}

// TestDeadlinePasses: nothing is lost or renewed; the guardian alone enforces the
// deadline, and a command that ignores SIGTERM is killed within the lease.
func TestDeadlinePasses(t *testing.T) {
	begin := time.Now()
	got, err := run(t, shell(`trap "" TERM; while :; do sleep 0.1; done`), newFakeLease().renew(time.Second, 2*time.Second))
	if want := (Outcome{Code: 137, Lost: true}); got != want || err != nil {
		t.Errorf("Run = %+v, %v, want %+v", got, err, want)
	}
	if took := time.Since(begin); took < time.Second || took >= 2*time.Second {
		t.Errorf("the command was killed after %v, want after the line at 1 s and before the end at 2 s", took)
	}
}

// TestDeadlineMoves: a command outlives its first deadline if there is a new one.
func TestDeadlineMoves(t *testing.T) {
	l := newFakeLease().renew(time.Second, 2*time.Second)
	timer := time.AfterFunc(300*time.Millisecond, func() { l.renew(20*time.Second, 21*time.Second) })
	defer timer.Stop()
	got, err := run(t, shell("sleep 2.2"), l)
	if want := (Outcome{}); got != want || err != nil {
		t.Errorf("Run = %+v, %v, want %+v", got, err, want)
	}
}

// TestLostEarly: SIGTERM comes with the loss, not with the line.
func TestLostEarly(t *testing.T) {
	l := newFakeLease().renew(50*time.Second, 55*time.Second)
	started := filepath.Join(t.TempDir(), "started")
	go func() {
		for _, err := os.Stat(started); err != nil; _, err = os.Stat(started) {
			time.Sleep(5 * time.Millisecond) // no event says how far another process is
		}
		close(l.lost)
	}()
	got, err := run(t, shell(`trap 'exit 3' TERM; : >'`+started+`'; while :; do sleep 0.05; done`), l)
	if want := (Outcome{Code: 3, Lost: true}); got != want || err != nil {
		t.Errorf("Run = %+v, %v, want %+v", got, err, want)
	}
}

// TestLostBeforeStart: a command whose lease is over is never started.
func TestLostBeforeStart(t *testing.T) {
	started := filepath.Join(t.TempDir(), "started")
	got, err := run(t, shell(": >'"+started+"'"), newFakeLease().renew(0, 0))
	if !got.Lost || err != nil {
		t.Errorf("Run = %+v, %v, want it lost", got, err)
	}
	if _, err := os.Stat(started); err == nil {
		t.Error("the command ran without a lease")
	}
}

func TestCommandThatCannotStart(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	orphan := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(orphan, []byte("#!/no/such/interpreter\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{"/no/such/command": 127, plain: 126, orphan: 127} {
		c := shell("")
		c.Path, c.Args = path, []string{path}
		if _, err := run(t, c, newFakeLease()); err == nil || CodeOf(err) != want {
			t.Errorf("Run(%q) = %v with code %d, want code %d", path, err, CodeOf(err), want)
		}
	}
}

func TestFind(t *testing.T) {
	if path, err := Find("sh"); err != nil || !filepath.IsAbs(path) {
		t.Errorf("Find(sh) = %q, %v, want a path", path, err)
	}
	if _, err := Find("no-such-command"); CodeOf(err) != 127 {
		t.Errorf("Find(no-such-command) = %v with code %d, want 127", err, CodeOf(err))
	}
	if _, err := Find("/"); CodeOf(err) != 126 {
		t.Errorf("Find(/) = %v with code %d, want 126", err, CodeOf(err))
	}
}

// TestGuardianDies: whatever the command is doing, it is killed.
func TestGuardianDies(t *testing.T) {
	_, err := run(t, shell("kill -9 $PPID; sleep 600"), newFakeLease())
	if !errors.Is(err, ErrGuardian) {
		t.Errorf("Run = %v, want %v", err, ErrGuardian)
	}
}

// TestRolesByHand: guardian and launcher refuse to be started by hand.
func TestRolesByHand(t *testing.T) {
	for _, args := range [][]string{nil, {"x", "y"}, {"0", "1"}, {"998", "999"}} {
		if code := Guardian(args, testLauncher); code != 64 {
			t.Errorf("Guardian(%q) = %d, want 64", args, code)
		}
		if code := Launcher(append([]string{"true", "true"}, args...)); code != 64 {
			t.Errorf("Launcher(%q) = %d, want 64", args, code)
		}
	}
}

// TestClockIsShared: readings of different processes are comparable.
func TestClockIsShared(t *testing.T) {
	first := now()
	if second := now(); second < first || second-first > 10*time.Second {
		t.Errorf("now() = %v and then %v", first, second)
	}
	if up := monotonic(); first < up-10*time.Second {
		t.Errorf("now() = %v, want at least the monotonic clock's %v", first, up)
	}
}
