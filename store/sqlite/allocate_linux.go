package sqlite

import (
	"errors"
	"os"
	"syscall"
)

// allocate makes a file take up size bytes of the disk, without writing them
// where the file system can do that.
func allocate(file *os.File, size int64) error {
	for {
		err := syscall.Fallocate(int(file.Fd()), 0, 0, size)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EOPNOTSUPP), errors.Is(err, syscall.ENOSYS):
			return fillUp(file, size)
		default:
			return err
		}
	}
}
