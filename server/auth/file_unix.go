//go:build unix

package auth

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// checkMode refuses a file that others than its owner can read or write: a
// writer could become an operator.
func checkMode(info fs.FileInfo, groupMayRead bool) error {
	forbidden := fs.FileMode(0o077)
	if groupMayRead {
		forbidden = 0o037
	}
	if mode := info.Mode().Perm(); mode&forbidden != 0 {
		return fmt.Errorf("mode %#o lets others in; run chmod 600 on it, then revoke what others may have added", mode)
	}
	return nil
}

// copyOwner gives the new file the mode and the owner of the one it replaces.
func copyOwner(file *os.File, old fs.FileInfo) error {
	if err := file.Chmod(old.Mode().Perm()); err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return err
	}
	was, ok := old.Sys().(*syscall.Stat_t)
	is, ok2 := info.Sys().(*syscall.Stat_t)
	if !ok || !ok2 || was.Uid == is.Uid && was.Gid == is.Gid {
		return nil
	}
	return file.Chown(int(was.Uid), int(was.Gid))
}
