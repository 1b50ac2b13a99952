package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/leasehold/leasehold/test/process"
	"golang.org/x/sys/unix"
)

// screen is a terminal whose user is the test.
type screen struct {
	t    *testing.T
	keys *os.File

	mu   sync.Mutex
	text strings.Builder
}

// newScreen runs a shell script with job control on a terminal of its own.
func (s *runServer) newScreen(script string) (*screen, *process.Process) {
	s.t.Helper()
	keys, terminal := openPTY(s.t)
	defer terminal.Close()
	path, err := exec.LookPath("leasehold")
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command("sh", "-m", "-c", script)
	r := process.Start(s.t, cmd, func(c *exec.Cmd) {
		c.Env = append(c.Env, "LEASEHOLD_STORE="+s.url(), "RUN="+path+" run")
		c.Stdin, c.Stdout, c.Stderr = terminal, terminal, terminal
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	})
	screen := &screen{t: s.t, keys: keys}
	go func() { _, _ = io.Copy(screen, keys) }()
	return screen, r
}

func openPTY(t *testing.T) (keys, terminal *os.File) {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { keys.Close() })
	raw, err := keys.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var number int
	var failed error
	err = raw.Control(func(fd uintptr) {
		if number, failed = unix.IoctlGetInt(int(fd), unix.TIOCGPTN); failed == nil {
			failed = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0)
		}
	})
	if err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return keys, terminal
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *screen) shown() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func (s *screen) shows(text string) {
	s.t.Helper()
	defer func() {
		if s.t.Failed() {
			s.t.Logf("the screen shows:\n%s", s.shown())
		}
	}()
	process.Eventually(s.t, fmt.Sprintf("the screen shows %q", text), func() bool { return strings.Contains(s.shown(), text) })
}

func (s *screen) press(keys string) {
	s.t.Helper()
	if _, err := s.keys.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// TestRunTerminal: what the terminal's user sees of a run, key by key.
func TestRunTerminal(t *testing.T) {
	t.Parallel()
	s := newRunServer(t)

	t.Run("input and Ctrl-C", func(t *testing.T) {
		s := &runServer{t: t, address: s.address}
		screen, r := s.newScreen(`$RUN keys -- sh -c 'read line; echo "got $line"; trap "echo interrupted; exit 5" INT; echo ready; while :; do sleep 0.05; done'; echo "code $?"; read after; echo "shell $after"`)
		screen.press("hello\n")
		screen.shows("got hello")
		screen.shows("ready")
		screen.press("\x03")
		screen.shows("interrupted")
		screen.shows("code 5")
		screen.press("again\n") // the shell has the terminal back
		screen.shows("shell again")
		r.CheckCode(0)
	})

	t.Run("Ctrl-Z and fg", func(t *testing.T) {
		s := &runServer{t: t, address: s.address}
		screen, r := s.newScreen(`$RUN stop -- sh -c 'echo ready; read line; echo "got $line"; exit 6'; echo "stopped $?"; fg; echo "code $?"`)
		screen.shows("ready")
		screen.press("\x1a")
		screen.shows("stopped 149") // 128 and SIGTTIN
		screen.press("hello\n")
		screen.shows("got hello")
		screen.shows("code 6")
		r.CheckCode(0)
	})

	t.Run("a pipe as input, and the terminal on demand", func(t *testing.T) {
		s := &runServer{t: t, address: s.address}
		screen, r := s.newScreen(`echo piped | $RUN pipe -- sh -c 'read line; echo "got $line"; read key </dev/tty; echo "key $key"'; echo "code $?"`)
		screen.shows("got piped")
		screen.press("x\n")
		screen.shows("key x")
		screen.shows("code 0")
		r.CheckCode(0)
	})

	t.Run("a job in the background", func(t *testing.T) {
		s := &runServer{t: t, address: s.address}
		screen, r := s.newScreen(`$RUN back -- sh -c 'echo ready; sleep 0.3; exit 7' & read line; echo "shell $line"; wait $!; echo "code $?"`)
		screen.press("hello\n") // is for the shell
		screen.shows("shell hello")
		screen.shows("code 7")
		r.CheckCode(0)
	})
}
