//go:build unix

package fsutil

import (
	"errors"
	"os"
	"syscall"
)

// LockFile waits until no other process has the file locked, and makes it if it is
// missing. The system unlocks when the process ends, however it ends.
func LockFile(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return lock(file)
}

// LockDir is LockFile for a folder. Some network file systems have no such locks; there
// it does not wait.
func LockDir(dir string) (unlock func(), err error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	unlock, err = lock(d)
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EBADF) {
		return func() {}, nil
	}
	return unlock, err
}

// lock locks the file, and closes it if it cannot.
func lock(file *os.File) (unlock func(), err error) {
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
		return func() { _ = file.Close() }, nil
	}
}
