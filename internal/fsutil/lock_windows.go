package fsutil

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// LockFile waits until no other process has the file locked, and makes it if it is
// missing. The system unlocks when the process ends, however it ends.
func LockFile(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = windows.LockFileEx(windows.Handle(file.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, new(windows.Overlapped))
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() { _ = file.Close() }, nil
}

// LockDir is LockFile for a folder, by a file in it that stays.
func LockDir(dir string) (unlock func(), err error) {
	return LockFile(filepath.Join(dir, "leasehold.lock"))
}
