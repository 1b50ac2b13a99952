package sqlite

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/leasehold/leasehold/store/local"
)

var _ local.Sizer = (*journal)(nil)

// DiskFigures implements local.Sizer. It opens no file: closing one would let go
// of the locks that this process has on it.
func (j *journal) DiskFigures() local.DiskFigures {
	f := local.DiskFigures{Database: -1, Free: -1, Reserve: sizeOf(j.reserve.path)}
	if file, log := sizeOf(j.path), sizeOf(j.path+"-wal"); file >= 0 && log >= 0 {
		f.Database = file + log
	}
	if free, err := freeSpace(filepath.Dir(j.path)); err == nil && free != math.MaxInt64 {
		f.Free = free
	}
	return f
}

// sizeOf is 0 if there is no such file, and -1 if that cannot be known.
func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0
	case err != nil:
		return -1
	}
	return info.Size()
}
