package remote

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/fsutil"
)

var errNoLength = errors.New("the answer does not tell where it ends, so that half a copy would look like a whole one")

// Backup implements leasehold.Backuper: it writes a copy of the server's store to
// a new file, which only its owner can read, because the copy holds lease ids. If
// anything fails there is no file.
func (s *Store) Backup(ctx context.Context, path string) (err error) {
	c := &call{op: "backup", effect: reads, method: http.MethodGet, target: "/v1/backup"}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fileError(c, err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(path)
		}
	}()
	defer file.Close() // after success a second time, which does no harm
	a, err := s.stream(ctx, c)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	if a.ContentLength < 0 && !slices.Contains(a.TransferEncoding, "chunked") {
		return s.failure(ctx, c, errNoLength)
	}
	if _, err := io.Copy(file, a.Body); err != nil {
		return s.failure(ctx, c, err)
	}
	if err := errors.Join(file.Sync(), file.Close(), fsutil.SyncDir(filepath.Dir(path))); err != nil {
		return fileError(c, err)
	}
	return nil
}

// fileError is the error for a local file that cannot be written.
func fileError(c *call, err error) error {
	if errors.Is(err, os.ErrExist) {
		return localError(c.op, "", leasehold.Invalid("path", "exists already; name another file, or move it away"))
	}
	return &leasehold.Error{Reason: leasehold.ReasonUnavailable, Op: c.op, Store: kind, Cause: err}
}
