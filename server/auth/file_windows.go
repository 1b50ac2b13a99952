package auth

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// checkMode has nothing to check: on Windows the mode says nothing about who may
// read. Keep the file in a directory that is yours.
func checkMode(fs.FileInfo, bool) error { return nil }

// copyOwner has nothing to do: a new file has the rights of its directory.
func copyOwner(*os.File, fs.FileInfo) error { return nil }

// lockFile waits for the lock. The system unlocks when the process ends, however
// it ends.
func lockFile(path string) (unlock func(), err error) {
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
