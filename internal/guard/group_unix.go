//go:build unix

package guard

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// group is the process group of a command, by its number.
type group int

// signal reaches every member that this process may signal; EPERM means that it
// may signal none. Signal 0 only checks.
func (g group) signal(s syscall.Signal) error { return syscall.Kill(-int(g), s) }

// empty reports whether no process is in the group. One that has ended, but whose
// parent has not waited for it, still is.
func (g group) empty() bool { return errors.Is(g.signal(0), syscall.ESRCH) }

// terminate sends SIGTERM, and SIGCONT so that stopped members receive it.
func (g group) terminate() error {
	err := g.signal(syscall.SIGTERM)
	_ = g.signal(syscall.SIGCONT)
	return err
}

func (g group) kill() error { return g.signal(syscall.SIGKILL) }

// childEvent is that a child ended, was stopped, or goes on.
type childEvent struct {
	pid    int
	status unix.WaitStatus
}

// childEvents returns the events of this process's children, adopted orphans too.
// The channel closes when there are no children left.
func childEvents() <-chan childEvent {
	c := make(chan childEvent)
	go func() {
		defer close(c)
		for {
			var seen childEvent
			var err error
			seen.pid, err = unix.Wait4(-1, &seen.status, unix.WUNTRACED, nil)
			switch {
			case err == nil:
				c <- seen
			case !errors.Is(err, unix.EINTR):
				return
			}
		}
	}()
	return c
}
