//go:build unix

package guard

import (
	"golang.org/x/sys/unix"
)

// terminal is the controlling terminal, if there is one. Its foreground group
// gets what is typed and the signals of the keys; the command has a group of its
// own, so the terminal has to be handed to it and taken back.
type terminal struct {
	fd    int   // -1: none
	own   int   // the group of this process, which the shell knows
	input bool  // standard input is this terminal
	given group // who has it from us, if anybody
}

func openTerminal() *terminal {
	fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		fd = -1
	}
	_, err = unix.IoctlGetInt(0, unix.TIOCGPGRP)
	return &terminal{fd: fd, own: unix.Getpgrp(), input: fd >= 0 && err == nil}
}

// close takes the terminal back as well.
func (t *terminal) close() {
	if t.fd >= 0 {
		t.takeBack()
		unix.Close(t.fd)
	}
}

// inFront reports whether this process's group has the terminal.
func (t *terminal) inFront() bool { return t.fd >= 0 && t.holder() == t.own }

// holder returns the group that has the terminal, 0 if none.
func (t *terminal) holder() int {
	g, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP)
	if err != nil {
		return 0
	}
	return int(int32(g))
}

// expected reports whether the command should have the terminal from the start.
// Where standard input is something else, the command may be a part of a
// pipeline whose other parts need the keys; it gets the terminal when it asks.
func (t *terminal) expected() bool { return t.input && t.inFront() }

// give hands the terminal over. A process in the background is stopped for that
// unless it ignores SIGTTOU; this one does, from when its guardian runs.
func (t *terminal) give(g group) {
	if unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, int(g)) == nil {
		t.given = g
	}
}

// takeBack undoes give, unless somebody else has the terminal by now.
func (t *terminal) takeBack() {
	if t.given == 0 {
		return
	}
	holder := t.holder()
	if holder == int(t.given) || group(holder).empty() {
		_ = unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, t.own)
	}
	t.given = 0
}

// suspend stops this process, or its whole group as Ctrl-Z would, until somebody
// lets it go on. SIGTSTP is caught, and Go cannot undo that; SIGTTIN never is.
// Unlike SIGSTOP it does nothing where no shell could let the process go on.
func suspend(whole bool) {
	pid := unix.Getpid()
	if whole {
		pid = 0
	}
	_ = unix.Kill(pid, unix.SIGTTIN)
}
