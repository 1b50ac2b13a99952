package dbfile

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/engine"
	"github.com/leasehold/leasehold/internal/fsutil"
	"zombiezen.com/go/sqlite"
)

const (
	Kind = "sqlite" // the store's, in errors

	// ApplicationID marks the file as ours: "LSHD" in ASCII.
	ApplicationID = 0x4c534844
)

// Variables only because tests would have to wait for them.
var (
	// BusyTimeout is how long another program may lock the file before that
	// counts as a failure.
	BusyTimeout = 5 * time.Second

	// CheckedSize is up to which size a file is checked whole when it is opened,
	// at about 2 ms a megabyte. In larger files damage is found by reading: the
	// leases are all read at the start, the history on request.
	CheckedSize int64 = 8 << 20
)

// Resolve makes the path absolute and follows links, so that one file has one
// name and one lock, and names that are special to SQLite (":memory:") are plain
// names. The directory must exist: making it would turn every mistyped path into
// a new and empty store.
func Resolve(path string) (string, error) {
	if path == "" {
		return "", Invalid("path", "is empty; name a file")
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
		return "", Invalid("path", "%s has no directory %s; make it first", path, filepath.Dir(abs))
	}
	if info, err := os.Stat(abs); err == nil && !info.Mode().IsRegular() {
		return "", Invalid("path", "%s is no file but a %s; name a file", path, fileKind(info))
	}
	return abs, nil
}

// MustExist refuses a file that is not there. It must run before lockDatabase,
// which makes a file of its own.
func MustExist(path string) error {
	if _, err := os.Stat(path); path != "" && errors.Is(err, fs.ErrNotExist) {
		return &leasehold.Error{Reason: leasehold.ReasonInvalid, Store: Kind, Field: "path", Problem: path, Cause: ErrMissing}
	}
	return nil
}

func fileKind(info fs.FileInfo) string {
	if info.IsDir() {
		return "directory"
	}
	return "device"
}

// CreateOrCheck makes sure that the file can be written and is ours or empty, and makes
// it if it is not there. It reads the header itself, because SQLite might tidy
// up a foreign file's log on the way. It must run while this process has no
// connection to the file: closing a file lets all of a process's locks on it go.
func CreateOrCheck(path string) (size int64, err error) {
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
		return 0, &FileError{Path: path, What: ErrForeign,
			Detail: "is no SQLite database; name another file, or restore a backup if this one was good before"}
	case binary.BigEndian.Uint32(header[68:]) != ApplicationID:
		return 0, Foreign(path)
	}
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func Foreign(path string) error {
	return &FileError{Path: path, What: ErrForeign, Detail: "is the database of another program; name another file"}
}

// Connect opens a connection that waits for locks up to busyTimeout.
func Connect(path string, flags sqlite.OpenFlags) (*sqlite.Conn, error) {
	conn, err := sqlite.OpenConn(path, flags)
	if err != nil {
		return nil, err
	}
	conn.SetBusyTimeout(BusyTimeout)
	return conn, nil
}

// SchemaVersion returns the version of the engine's schema, zero for an empty
// database, and refuses a database that is not ours.
func SchemaVersion(conn *sqlite.Conn, path string) (int, error) {
	id, err := QueryInt(conn, "PRAGMA application_id")
	if err != nil {
		return 0, err
	}
	tables, err := QueryInt(conn, sqlCountTables)
	if err != nil {
		return 0, err
	}
	if id != ApplicationID && (id != 0 || tables != 0) {
		return 0, Foreign(path)
	}
	version, err := QueryInt(conn, "PRAGMA user_version")
	return int(version), err
}

// writeHeader marks the file as ours and with the version of its schema.
func writeHeader(conn *sqlite.Conn) error {
	if err := Run(conn, fmt.Sprintf("PRAGMA application_id = %d", ApplicationID)); err != nil {
		return err
	}
	return Run(conn, fmt.Sprintf("PRAGMA user_version = %d", len(EngineSchema.Migrations)))
}

// CheckIntegrity reads the whole database and returns ErrDamaged if it is not
// sound.
func CheckIntegrity(conn *sqlite.Conn, path, pragma string) error {
	stmt, _, err := conn.PrepareTransient("PRAGMA " + pragma)
	if err != nil {
		return err
	}
	defer stmt.Finalize()
	if _, err := stmt.Step(); err != nil {
		return err
	}
	if says := stmt.ColumnText(0); says != "ok" {
		return Damaged(path, errors.New(says))
	}
	return nil
}

// Prepare makes the file ready for use: existing, ours, sound, with the schema of
// this program and its modules, and as the mode wants it. A file that it refuses
// stays as it was. The caller has the file alone.
func Prepare(ctx context.Context, path string, modules []engine.Module, forMode func(*sqlite.Conn) error) (err error) {
	size, err := CreateOrCheck(path)
	if err != nil {
		return err
	}
	conn, err := Connect(path, sqlite.OpenReadWrite)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	conn.SetInterrupt(ctx.Done())
	if size > 0 && size <= CheckedSize {
		if err := CheckIntegrity(conn, path, "quick_check(1)"); err != nil {
			return err
		}
	}
	// A new file gets its schema before it gets a log: so a file with content
	// always has our mark in its own header, whatever happens in between.
	if err := Migrate(conn, path, modules); err != nil {
		return err
	}
	if err := forMode(conn); err != nil {
		return err
	}
	return Run(conn, "PRAGMA journal_mode = WAL")
}

// RewriteLog makes the write-ahead log durable before any of it is trusted. The
// log of a process that was killed, or whose sync failed, may be only in the
// system's cache, which counts it as written; another sync then does nothing. So
// every byte is written again, in place, and synced. That takes no space, so it
// works on a full disk.
//
// No connection may be open.
func RewriteLog(path string) error {
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
