//go:build unix

package fsutil

import (
	"errors"
	"os"
	"syscall"
)

// LockDir waits until no other process has the folder locked. The system unlocks when
// the process ends, however it ends.
func LockDir(dir string) (unlock func(), err error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(d.Fd()), syscall.LOCK_EX)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, errors.ErrUnsupported), errors.Is(err, syscall.EBADF): // some network file systems
			err = nil
		}
		if err != nil {
			return nil, errors.Join(err, d.Close())
		}
		return func() { _ = d.Close() }, nil
	}
}
