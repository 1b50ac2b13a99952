//go:build unix

package guard

import (
	"golang.org/x/sys/unix"
)

// terminal is the controlling terminal, if there is one. Its foreground group gets
// the input and the signals of the keys; the command has a group of its own, which
// has to become the foreground group, and this process's again afterwards.
type terminal struct {
	fd    int   // -1: none
	own   int   // the group of this process, which the shell knows
	input bool  // standard input is this terminal
	given group // has the terminal from this process; 0: none
}

func openTerminal() *terminal {
	fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		fd = -1
	}
	_, err = unix.IoctlGetInt(0, unix.TIOCGPGRP)
	return &terminal{fd: fd, own: unix.Getpgrp(), input: fd >= 0 && err == nil}
}

// close reclaims the terminal as well.
func (t *terminal) close() {
	if t.fd >= 0 {
		t.reclaim()
		unix.Close(t.fd)
	}
}

// isForeground reports whether this process's group has the terminal.
func (t *terminal) isForeground() bool { return t.fd >= 0 && t.foreground() == t.own }

// foreground returns the group that has the terminal, 0 if none.
func (t *terminal) foreground() int {
	g, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP)
	if err != nil {
		return 0
	}
	return int(int32(g))
}

// givenAtStart reports whether the command has the terminal from the start. Where
// standard input is something else, the command may be a part of a pipeline whose
// other parts need the keys; it gets the terminal when it uses it.
func (t *terminal) givenAtStart() bool { return t.input && t.isForeground() }

// give makes g the foreground group. A process in the background is stopped for
// that unless it ignores SIGTTOU, as this one does once its guardian runs.
func (t *terminal) give(g group) {
	if unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, int(g)) == nil {
		t.given = g
	}
}

// reclaim undoes give, unless another group has the terminal by now.
func (t *terminal) reclaim() {
	if t.given == 0 {
		return
	}
	foreground := t.foreground()
	if foreground == int(t.given) || group(foreground).empty() {
		_ = unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, t.own)
	}
	t.given = 0
}

// suspend stops this process, or its whole group as Ctrl-Z would, until SIGCONT.
// SIGTSTP is caught, and Go cannot undo that; SIGTTIN never is. Unlike SIGSTOP it
// does nothing where there is no shell to continue the process.
func suspend(whole bool) {
	pid := unix.Getpid()
	if whole {
		pid = 0
	}
	_ = unix.Kill(pid, unix.SIGTTIN)
}
