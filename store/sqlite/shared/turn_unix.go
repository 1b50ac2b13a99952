//go:build unix

package shared

import (
	"errors"
	"os"
	"syscall"
)

// lockTurn locks the file. The system serves those that wait in their order.
func lockTurn(file *os.File, wait bool) error {
	how := syscall.LOCK_EX
	if !wait {
		how |= syscall.LOCK_NB
	}
	for {
		err := syscall.Flock(int(file.Fd()), how)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			return errTaken
		}
		return err
	}
}

func unlockTurn(file *os.File) error { return syscall.Flock(int(file.Fd()), syscall.LOCK_UN) }
