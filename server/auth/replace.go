package auth

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/leasehold/leasehold/internal/fsutil"
)

// replace puts data at path, durably: after a crash there is the old file or
// the new one. Mode and owner stay as they were, or an administrator's edit
// would take the file away from the server's user.
func replace(path string, data []byte) error {
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // mode 0600
	if err != nil {
		return err
	}
	err = errors.Join(fill(temp, path, data), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return fsutil.SyncDir(filepath.Dir(path))
}

func fill(temp *os.File, path string, data []byte) error {
	if old, err := os.Stat(path); err == nil {
		if err := likeOld(temp, old); err != nil {
			return err
		}
	}
	if _, err := temp.Write(data); err != nil {
		return err
	}
	return temp.Sync()
}
