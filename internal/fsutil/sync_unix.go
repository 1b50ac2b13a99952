//go:build unix

package fsutil

import (
	"errors"
	"os"
	"syscall"
)

// SyncDir makes the names in a directory durable. Where the file system cannot
// sync a directory nothing more can be done, and that is no error.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) {
		err = nil
	}
	return errors.Join(err, d.Close())
}
