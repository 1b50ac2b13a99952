package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/leasehold/leasehold"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// TokensSkipped is how far Restore moves the token counter on: further than a
// store comes between a backup and its restore.
const TokensSkipped = 1 << 32

// RestoreOptions are Restore's. Nil is fine.
type RestoreOptions struct {
	// Replace the database that is at the path. Default: a path that is in use
	// for anything is refused.
	Replace bool
}

// Restore puts a backup in place as the store at path, in one step: whatever
// happens, there is the old file or the new one. The backup is checked first,
// and stays as it is. No store may have the path open.
//
// Leases stand as they stood at the time of the backup, with the time they then
// had left: a backup belongs to no boot, so no time has passed since. Tokens go
// on from 2^32 beyond the backup's, and beyond those of the database that is
// replaced, if it can still be read: so no token given out since is ever given
// out again. (One trap is left: who restores the same backup a second time, over
// a file that cannot be read any more, repeats the tokens given out since the
// first time.)
func Restore(ctx context.Context, backup, path string, opts *RestoreOptions) error {
	if opts == nil {
		opts = &RestoreOptions{}
	}
	return unavailable("restore", path, restore(ctx, backup, path, *opts))
}

func restore(ctx context.Context, backup, path string, opts RestoreOptions) error {
	if _, err := os.Stat(backup); err != nil {
		return invalid("backup", fmt.Sprintf("cannot be read: %v", err))
	}
	path, err := resolve(path)
	if err != nil {
		return err
	}
	held, err := takeLock(path, "")
	if err != nil {
		return err
	}
	return errors.Join(restoreLocked(ctx, backup, path, opts), held.free())
}

func restoreLocked(ctx context.Context, backup, path string, opts RestoreOptions) error {
	exists, err := replaceable(path, opts)
	if err != nil {
		return err
	}
	fresh := path + ".restoring"
	os.Remove(fresh) // left by a restore that was killed; the lock is ours
	defer os.Remove(fresh)
	if err := createEmpty(fresh); err != nil {
		return err
	}
	if err := copyBackup(ctx, backup, fresh); err != nil {
		return explain(backup, err)
	}
	var old int64
	if exists {
		old = retire(path)
	}
	if err := skipTokens(fresh, old); err != nil {
		return explain(fresh, err)
	}
	// A log without its database is worth nothing, and next to another database
	// it is poison.
	for _, companion := range []string{"-wal", "-shm", "-journal"} {
		if err := os.Remove(path + companion); err != nil && !errors.Is(err, os.ErrNotExist) {
			return explain(path+companion, err)
		}
	}
	return replace(fresh, path)
}

// replaceable says whether there is a file to be replaced, and refuses one that
// must not be: any without leave, and another program's in any case.
func replaceable(path string, opts RestoreOptions) (exists bool, err error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist) || err == nil && info.Size() == 0:
		return false, nil
	case err != nil:
		return false, explain(path, err)
	case !opts.Replace:
		return false, &fileError{path: path, what: ErrExists, detail: "exists already; move it away, or ask to replace it"}
	}
	if _, err := claim(path); err != nil {
		return false, fmt.Errorf("nothing is replaced, move the file away first: %w", explain(path, err))
	}
	return true, nil
}

// retire reads the last token of the database that is about to be replaced, or
// zero if it cannot be read. Opening and closing it also brings its log home, so
// that the file is complete by itself until the moment it is replaced.
func retire(path string) int64 {
	conn, err := connect(path, sqlite.OpenReadWrite)
	if err != nil {
		return 0
	}
	defer conn.Close()
	token, _ := number(conn, sqlLastToken) // a damaged file has no say
	return token
}

// copyBackup checks the backup and copies it into an empty file. It reads
// through SQLite only, so even the file of a running store is copied right.
func copyBackup(ctx context.Context, backup, to string) (err error) {
	conn, err := connect(backup, sqlite.OpenReadOnly)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	conn.SetInterrupt(ctx.Done())
	defer func() {
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
	}()
	version, err := schemaVersion(conn, backup)
	switch known := len(engineSchema.Migrations); {
	case err != nil:
		return err
	case version == 0:
		return foreign(backup)
	case version > known:
		return newer(backup, "schema", version, known)
	}
	if err := check(conn, backup, "integrity_check(1)"); err != nil {
		return err
	}
	return copyInto(conn, to)
}

// skipTokens moves the token counter on, beyond the old database's as well, and
// makes sure that the copy is one of no boot, even if the backup was a plain copy
// of a store's file.
func skipTokens(path string, old int64) (err error) {
	conn, err := connect(path, sqlite.OpenReadWrite)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if err := migrate(conn, path, nil); err != nil { // of an older program, it has nothing to forget
		return err
	}
	token, err := number(conn, sqlLastToken)
	if err != nil {
		return err
	}
	token = max(token, old) + TokensSkipped
	if token >= leasehold.MaxToken {
		return fmt.Errorf("the token counter would pass its end at 2^53")
	}
	if err := sqlitex.ExecuteTransient(conn, sqlSkipTokens, &sqlitex.ExecOptions{Args: []any{token}}); err != nil {
		return err
	}
	if err := run(conn, sqlForgetBoot); err != nil {
		return err
	}
	return run(conn, "PRAGMA journal_mode = WAL")
}
