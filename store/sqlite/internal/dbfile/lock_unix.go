//go:build unix

package dbfile

import (
	"errors"
	"os"
	"syscall"
)

// tryLock locks the file for this open file, not for the process: a second
// Store of the same process is refused as well.
func tryLock(file *os.File, mode lockMode) error {
	how := syscall.LOCK_EX
	if mode == shared {
		how = syscall.LOCK_SH
	}
	for {
		err := syscall.Flock(int(file.Fd()), how|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			return errLocked
		}
		return err
	}
}

// share lets others share a file that is locked alone.
func share(file *os.File) error { return tryLock(file, shared) }
