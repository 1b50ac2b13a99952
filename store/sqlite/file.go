package sqlite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/fsutil"
	"zombiezen.com/go/sqlite"
)

const (
	kind = "sqlite" // the store's, in errors

	// applicationID marks the file as ours: "LSHD" in ASCII.
	applicationID = 0x4c534844
)

// Variables only because tests would have to wait for them.
var (
	// busyTimeout is how long another program may lock the file before that
	// counts as a failure.
	busyTimeout = 5 * time.Second

	// checkedSize is up to where a file is checked whole when it is opened, at
	// about 2 ms a megabyte. In larger ones damage is found when it is met: the
	// leases are all read at the start, the history when it is asked for.
	checkedSize int64 = 8 << 20
)

// resolve makes the path absolute and follows links, so that one file has one
// name and one lock, and names that mean something to SQLite (":memory:") are
// just names. The directory must exist: making one would turn every mistyped
// path into a new and empty store.
func resolve(path string) (string, error) {
	if path == "" {
		return "", invalid("path", "is empty; name a file")
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		abs = real
	} else if dir, err := filepath.EvalSymlinks(filepath.Dir(abs)); err == nil {
		abs = filepath.Join(dir, filepath.Base(abs))
	} else {
		return "", invalid("path", fmt.Sprintf("%s has no directory %s; make it first", path, filepath.Dir(abs)))
	}
	if info, err := os.Stat(abs); err == nil && !info.Mode().IsRegular() {
		return "", invalid("path", fmt.Sprintf("%s is no file but a %s; name a file", path, what(info)))
	}
	return abs, nil
}

// mustExist refuses a file that is not there. It must run before the lock is
// taken, which leaves a file of its own.
func mustExist(path string) error {
	if _, err := os.Stat(path); path != "" && errors.Is(err, fs.ErrNotExist) {
		return &leasehold.Error{Reason: leasehold.ReasonInvalid, Store: kind, Field: "path", Problem: path, Cause: ErrMissing}
	}
	return nil
}

func what(info fs.FileInfo) string {
	if info.IsDir() {
		return "directory"
	}
	return "device"
}

// claim makes sure that the file can be written and is ours or empty, and makes
// it if it is not there. It reads the header itself, because SQLite might tidy
// up a foreign file's log on the way. It must run while this process has no
// connection to the file: closing a file lets all of a process's locks on it go.
func claim(path string) (size int64, err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	header := make([]byte, 100)
	n, err := io.ReadFull(file, header)
	switch {
	case errors.Is(err, io.EOF): // empty: a new one
		return 0, errors.Join(file.Sync(), fsutil.SyncDir(filepath.Dir(path)))
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return 0, err
	case n < len(header) || string(header[:16]) != "SQLite format 3\x00":
		return 0, &fileError{path: path, what: ErrForeign,
			detail: "is no SQLite database; name another file, or restore a backup if this one was good before"}
	case binary.BigEndian.Uint32(header[68:]) != applicationID:
		return 0, foreign(path)
	}
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func foreign(path string) error {
	return &fileError{path: path, what: ErrForeign, detail: "is the database of another program; name another file"}
}

// connect opens a connection that waits a while for locks, and no longer.
func connect(path string, flags sqlite.OpenFlags) (*sqlite.Conn, error) {
	conn, err := sqlite.OpenConn(path, flags)
	if err != nil {
		return nil, err
	}
	conn.SetBusyTimeout(busyTimeout)
	return conn, nil
}

// schemaVersion returns the version of the engine's schema, zero for an empty
// database, and refuses a database that is not ours.
func schemaVersion(conn *sqlite.Conn, path string) (int, error) {
	id, err := number(conn, "PRAGMA application_id")
	if err != nil {
		return 0, err
	}
	tables, err := number(conn, "SELECT count(*) FROM sqlite_schema")
	if err != nil {
		return 0, err
	}
	if id != applicationID && (id != 0 || tables != 0) {
		return 0, foreign(path)
	}
	version, err := number(conn, "PRAGMA user_version")
	return int(version), err
}

// mark writes into the file's header whose it is and which schema it has.
func mark(conn *sqlite.Conn) error {
	if err := run(conn, fmt.Sprintf("PRAGMA application_id = %d", applicationID)); err != nil {
		return err
	}
	return run(conn, fmt.Sprintf("PRAGMA user_version = %d", len(engineSchema.Migrations)))
}

// check reads the whole database and answers ErrDamaged if it makes no sense.
func check(conn *sqlite.Conn, path, pragma string) error {
	stmt, _, err := conn.PrepareTransient("PRAGMA " + pragma)
	if err != nil {
		return err
	}
	defer stmt.Finalize()
	if _, err := stmt.Step(); err != nil {
		return err
	}
	if says := stmt.ColumnText(0); says != "ok" {
		return damaged(path, errors.New(says))
	}
	return nil
}
