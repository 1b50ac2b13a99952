package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/sqlite/internal/dbfile"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// TokensSkipped is what Restore adds to the token counter: more than a store
// grants between a backup and its restore.
const TokensSkipped = 1 << 32

// RestoreOptions are Restore's. Nil is fine.
type RestoreOptions struct {
	// Replace the database that is at the path. Default: a path that is in use
	// for anything is refused.
	Replace bool
}

// Restore makes a backup the store at path, in one step: whatever happens, there
// is the old file or the new one. The backup is checked first, and not changed.
// No store may have the path open.
//
// Leases are as they were at the time of the backup, with the time they then had
// left: a backup has no clocks, so no time has passed since. Tokens continue 2^32
// after the backup's and after those of the database that is replaced, if it can
// still be read: so no token granted since is ever granted again. (One trap is
// left: restoring the same backup a second time, over a file that cannot be read
// any more, repeats the tokens granted since the first time.)
func Restore(ctx context.Context, backup, path string, opts *RestoreOptions) error {
	if opts == nil {
		opts = &RestoreOptions{}
	}
	return dbfile.Unavailable("restore", path, restore(ctx, backup, path, *opts))
}

func restore(ctx context.Context, backup, path string, opts RestoreOptions) error {
	if _, err := os.Stat(backup); err != nil {
		return dbfile.Invalid("backup", "cannot be read: %v", err)
	}
	path, err := dbfile.Resolve(path)
	if err != nil {
		return err
	}
	held, err := dbfile.LockAlone(path, "")
	if err != nil {
		return err
	}
	return errors.Join(restoreLocked(ctx, backup, path, opts), held.Unlock())
}

func restoreLocked(ctx context.Context, backup, path string, opts RestoreOptions) error {
	exists, err := checkReplaceable(path, opts)
	if err != nil {
		return err
	}
	fresh := path + ".restoring"
	os.Remove(fresh) // of a restore that was killed; the lock is ours
	defer os.Remove(fresh)
	if err := createEmpty(fresh); err != nil {
		return err
	}
	if err := copyBackup(ctx, backup, fresh); err != nil {
		return dbfile.Describe(backup, err)
	}
	var old int64
	if exists {
		old = lastToken(path)
	}
	if err := skipTokens(fresh, old); err != nil {
		return dbfile.Describe(fresh, err)
	}
	// A log is useless without its database, and would corrupt another one.
	for _, companion := range []string{"-wal", "-shm", "-journal"} {
		if err := os.Remove(path + companion); err != nil && !errors.Is(err, os.ErrNotExist) {
			return dbfile.Describe(path+companion, err)
		}
	}
	return replace(fresh, path)
}

// checkReplaceable says whether there is a file to be replaced. It refuses any
// file without opts.Replace, and another program's in any case.
func checkReplaceable(path string, opts RestoreOptions) (exists bool, err error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist) || err == nil && info.Size() == 0:
		return false, nil
	case err != nil:
		return false, dbfile.Describe(path, err)
	case !opts.Replace:
		return false, &dbfile.FileError{Path: path, What: ErrExists, Detail: "exists already; move it away, or ask to replace it"}
	}
	if _, err := dbfile.CreateOrCheck(path); err != nil {
		return false, fmt.Errorf("nothing is replaced, move the file away first: %w", dbfile.Describe(path, err))
	}
	return true, nil
}

// lastToken reads the last token of the database that is about to be replaced, or
// zero if it cannot be read. Opening and closing it also checkpoints its log, so
// that the file is complete by itself until the moment it is replaced.
func lastToken(path string) int64 {
	conn, err := dbfile.Connect(path, sqlite.OpenReadWrite)
	if err != nil {
		return 0
	}
	defer conn.Close()
	token, _ := dbfile.QueryInt(conn, dbfile.LastToken) // zero if the file is damaged
	return token
}

// copyBackup checks the backup and copies it into an empty file. It reads through
// SQLite only, so that even the file of a running store is copied correctly.
func copyBackup(ctx context.Context, backup, to string) (err error) {
	conn, err := dbfile.Connect(backup, sqlite.OpenReadOnly)
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
	version, err := dbfile.SchemaVersion(conn, backup)
	switch known := len(dbfile.EngineSchema.Migrations); {
	case err != nil:
		return err
	case version == 0:
		return dbfile.Foreign(backup)
	case version > known:
		return dbfile.Newer(backup, "schema", version, known)
	}
	if err := dbfile.CheckIntegrity(conn, backup, "integrity_check(1)"); err != nil {
		return err
	}
	return copyInto(conn, to)
}

// skipTokens adds to the token counter, also beyond the old database's, and removes
// the saved clocks, which a plain copy of a store's file has.
func skipTokens(path string, old int64) (err error) {
	conn, err := dbfile.Connect(path, sqlite.OpenReadWrite)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if err := dbfile.Migrate(conn, path, nil); err != nil { // of an older program, it has nothing to forget
		return err
	}
	token, err := dbfile.QueryInt(conn, dbfile.LastToken)
	if err != nil {
		return err
	}
	token = max(token, old) + TokensSkipped
	if token >= leasehold.MaxToken {
		return fmt.Errorf("the token counter would pass its end at 2^53")
	}
	if err := sqlitex.ExecuteTransient(conn, dbfile.SetToken, &sqlitex.ExecOptions{Args: []any{token}}); err != nil {
		return err
	}
	if err := dbfile.Run(conn, dbfile.ClearBoot); err != nil {
		return err
	}
	return dbfile.Run(conn, "PRAGMA journal_mode = WAL")
}
