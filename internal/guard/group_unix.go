//go:build unix

package guard

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// group is the process group of a command, by its number.
type group int

// signal reaches every member that this process may signal; EPERM means that
// there is none of those. Number 0 reaches nobody and only looks.
func (g group) signal(s syscall.Signal) error { return syscall.Kill(-int(g), s) }

// empty reports whether no process is left in the group. One that has ended but
// that its parent has not waited for counts as left.
func (g group) empty() bool { return errors.Is(g.signal(0), syscall.ESRCH) }

// terminate asks the members to end; one that is stopped could not hear it.
func (g group) terminate() error {
	err := g.signal(syscall.SIGTERM)
	_ = g.signal(syscall.SIGCONT)
	return err
}

func (g group) kill() error { return g.signal(syscall.SIGKILL) }

// change is news of a child: it ended, was stopped, or goes on.
type change struct {
	pid    int
	status unix.WaitStatus
}

// changes reports what happens to the children of this process, orphans that it
// adopted among them, and closes when there are none left.
func changes() <-chan change {
	c := make(chan change)
	go func() {
		defer close(c)
		for {
			var news change
			var err error
			news.pid, err = unix.Wait4(-1, &news.status, unix.WUNTRACED, nil)
			switch {
			case err == nil:
				c <- news
			case !errors.Is(err, unix.EINTR):
				return
			}
		}
	}()
	return c
}
