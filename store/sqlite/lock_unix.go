//go:build unix

package sqlite

import (
	"errors"
	"os"
	"syscall"
)

// tryLock locks the file for this open file, not for the process: a second
// Store of the same process is refused as well.
func tryLock(file *os.File) error {
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			return errLocked
		}
		return err
	}
}
