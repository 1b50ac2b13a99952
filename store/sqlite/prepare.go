package sqlite

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/leasehold/leasehold/engine"
	"zombiezen.com/go/sqlite"
)

// prepare makes the file ready for use: made if need be, ours, whole, with the
// schema of this program and its modules. Whatever it refuses it leaves as it
// was. The caller has the lock.
func prepare(ctx context.Context, path string, modules []engine.Module) (err error) {
	size, err := claim(path)
	if err != nil {
		return err
	}
	conn, err := connect(path, sqlite.OpenReadWrite)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	conn.SetInterrupt(ctx.Done())
	if size > 0 && size <= checkedSize {
		if err := check(conn, path, "quick_check(1)"); err != nil {
			return err
		}
	}
	// A new file gets its schema before it gets a log: whatever happens in
	// between, a file with content carries our mark in its own header.
	if err := migrate(conn, path, modules); err != nil {
		return err
	}
	return run(conn, "PRAGMA journal_mode = WAL")
}

// settle makes all that is in the write-ahead log durable before any of it is
// believed. The log of a process that was killed, or whose sync failed, may be
// only in the system's memory, which counts it as written; syncing again then
// does nothing. So every byte is written once more, in its place, and synced.
// That takes no space, so it works on a full disk.
//
// No connection may be open.
func settle(path string) error {
	file, err := os.OpenFile(path+"-wal", os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	buf := make([]byte, 1<<20)
	for at := int64(0); ; {
		n, err := file.ReadAt(buf, at)
		if n > 0 {
			if _, err := file.WriteAt(buf[:n], at); err != nil {
				return err
			}
			at += int64(n)
		}
		switch {
		case errors.Is(err, io.EOF) && at == 0:
			return nil
		case errors.Is(err, io.EOF):
			return file.Sync()
		case err != nil:
			return err
		}
	}
}
