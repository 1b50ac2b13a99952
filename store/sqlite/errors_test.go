package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/local"
	"github.com/leasehold/leasehold/store/sqlite/internal/dbfile"
	"zombiezen.com/go/sqlite"
)

// TestFileErr: errors of the disk and of SQLite become errors about the file.
func TestFileErr(t *testing.T) {
	for _, c := range []struct {
		err  error
		what error
		says string
	}{
		{sqlite.ResultCorrupt.ToError(), ErrDamaged, "restore the last backup"},
		{sqlite.ResultCorruptVTab.ToError(), ErrDamaged, "restore the last backup"},
		{sqlite.ResultNotADB.ToError(), ErrForeign, "no SQLite database"},
		{sqlite.ResultFull.ToError(), ErrFull, "free some space"},
		{sqlite.ResultIOErrFsync.ToError(), nil, "check its disk"},
		{sqlite.ResultBusy.ToError(), ErrInUse, "locked by another program"},
		{sqlite.ResultReadOnly.ToError(), ErrReadOnly, "check the rights"},
		{sqlite.ResultCantOpen.ToError(), ErrReadOnly, "check the rights"},
		{dbfile.ErrMalformed, ErrDamaged, "restore the last backup"},
		{syscall.ENOSPC, ErrFull, "free some space"},
		{syscall.EROFS, ErrReadOnly, "check the rights"},
		{fs.ErrPermission, ErrReadOnly, "check the rights"},
		{fs.ErrNotExist, nil, "is missing"},
		{errors.New("something else"), nil, "something else"},
		{context.Canceled, context.Canceled, "canceled"},
	} {
		got := dbfile.Describe("/x/leases.db", fmt.Errorf("while working: %w", c.err))
		if !errors.Is(got, c.err) || c.what != nil && !errors.Is(got, c.what) || !strings.Contains(got.Error(), c.says) {
			t.Errorf("fileErr(%v) = %v, want %v that says %q", c.err, got, c.what, c.says)
		}
		if again := dbfile.Describe("/y", got); again != got && errors.As(got, new(*dbfile.FileError)) {
			t.Errorf("fileErr(%v) once more = %v", got, again)
		}
	}
	if err := dbfile.Unavailable("open", "/x", nil); err != nil {
		t.Errorf("unavailable(nil) = %v", err)
	}
	if err := dbfile.Unavailable("open", "/x", syscall.ENOSPC); leasehold.ReasonOf(err) != leasehold.ReasonUnavailable || !errors.Is(err, ErrFull) {
		t.Errorf("unavailable(ENOSPC) = %v", err)
	}
}

// TestFullDatabase: SQLite's own word for a full disk arrives as ErrFull, and
// the journal works on when there is space again.
func TestFullDatabase(t *testing.T) {
	j := newJournal(t, Options{})
	if err := dbfile.Run(j.writer.Conn, "PRAGMA max_page_count = 10"); err != nil {
		t.Fatal(err)
	}
	b := batchOf(2000)
	if err := j.Commit(b); !errors.Is(err, ErrFull) {
		t.Fatalf("Commit() = %v, want ErrFull", err)
	}
	if rows, state := mustLoad(t, j); len(rows) != 0 || state.Commit != 0 {
		t.Errorf("Load() = %d rows at commit %d, want nothing", len(rows), state.Commit)
	}
	mustCommit(t, j, b)
	if rows, _ := mustLoad(t, j); len(rows) != 2000 {
		t.Errorf("Load() = %d rows, want 2000", len(rows))
	}
}

// TestFileIsGone: a file that was deleted must not come back empty.
func TestFileIsGone(t *testing.T) {
	j := newJournal(t, Options{})
	mustCommit(t, j, batchOf(1))
	remove(t, j.path)
	if _, err := j.Load(t.Context(), nil); !errors.Is(err, ErrReadOnly) {
		t.Errorf("Load() of a file that is gone = %v, want an error", err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

// batchOf makes a batch with n rows.
func batchOf(n int) *local.Batch {
	b := &local.Batch{Counters: local.Counters{Commit: 1, Token: uint64(n)}}
	for i := range n {
		b.Rows = append(b.Rows, local.RowChange{Row: rowOf(i)})
	}
	return b
}
