package dbfile

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// behind is one byte far behind the text: locks are mandatory on Windows, and a
// process that is refused must be able to read who has it.
func behind() *windows.Overlapped { return &windows.Overlapped{OffsetHigh: 1 << 30} }

func tryLock(file *os.File, mode lockMode) error {
	how := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if mode == alone {
		how |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := windows.LockFileEx(windows.Handle(file.Fd()), how, 0, 1, 0, behind())
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return errLocked
	}
	return err
}

// share lets others share a file that is locked alone. The same handle may have
// both locks; the first unlock ends the one that excludes others.
func share(file *os.File) error {
	if err := tryLock(file, shared); err != nil {
		return err
	}
	return windows.UnlockFileEx(windows.Handle(file.Fd()), 0, 1, 0, behind())
}
