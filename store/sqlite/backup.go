package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/leasehold/leasehold/internal/fsutil"
	"github.com/leasehold/leasehold/store/sqlite/internal/dbfile"
)

// Backup writes a consistent copy of the running store to path, which must not
// exist. It holds everything that was answered before the call, lease ids
// included, so it is readable by its owner only. Commits go on meanwhile. When
// ctx ends the copy is deleted.
func (s *Store) Backup(ctx context.Context, path string) error {
	path, err := dbfile.Resolve(path)
	if err == nil && s.LowOnSpace() {
		err = &dbfile.FileError{Path: s.journal.path, What: ErrFull, Detail: "is on a full disk, whose reserve a backup could use up; free some space first"}
	}
	if err != nil {
		return dbfile.Unavailable("backup", path, err)
	}
	err = createWhole(path, func(partial string) error {
		err := s.journal.read(ctx, &s.journal.scanners, func(conn *sqlite.Conn) error { return copyInto(conn, partial) })
		if err != nil {
			return err
		}
		return dbfile.Describe(partial, clearBoot(partial))
	})
	return dbfile.Unavailable("backup", path, err)
}

// copyInto writes a compact copy of the connection's database, as of now, into
// an empty file.
func copyInto(conn *sqlite.Conn, path string) error {
	return sqlitex.ExecuteTransient(conn, dbfile.CopyInto, &sqlitex.ExecOptions{Args: []any{path}})
}

// clearBoot removes the saved clocks from a copy: where and when a backup is opened
// says nothing about how much of its leases has passed. If it fails, or the
// process dies, the copy is deleted, so it needs no journal; replace syncs it.
func clearBoot(path string) (err error) {
	conn, err := dbfile.Connect(path, sqlite.OpenReadWrite)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	for _, sql := range []string{"PRAGMA journal_mode = OFF", "PRAGMA synchronous = OFF", dbfile.ClearBoot} {
		if err := dbfile.Run(conn, sql); err != nil {
			return err
		}
	}
	return nil
}

// createWhole makes a new file at path, whole or not at all: write fills a file
// beside it, which is renamed when it is synced. An empty file reserves the name
// first, so that nothing that exists is ever overwritten.
func createWhole(path string, write func(partial string) error) (err error) {
	if err := createEmpty(path); err != nil {
		return err
	}
	partial := path + ".partial"
	err = createEmpty(partial)
	if err == nil {
		if err = write(partial); err == nil {
			err = replace(partial, path)
		}
		if err != nil {
			os.Remove(partial)
		}
	}
	if err != nil {
		os.Remove(path)
	}
	return err
}

// createEmpty makes a file that only its owner can read.
func createEmpty(path string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return &dbfile.FileError{Path: path, What: ErrExists, Detail: "exists already; name another file, or move it away"}
	}
	if err != nil {
		return dbfile.Describe(path, err)
	}
	return file.Close()
}

// replace syncs the file and renames it, durably.
func replace(from, to string) error {
	file, err := os.OpenFile(from, os.O_RDWR, 0)
	if err != nil {
		return dbfile.Describe(from, err)
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return dbfile.Describe(from, err)
	}
	if err := os.Rename(from, to); err != nil {
		return fmt.Errorf("could not put %s in its place: %w", to, dbfile.Describe(to, err))
	}
	return dbfile.Describe(to, fsutil.SyncDir(filepath.Dir(to)))
}
