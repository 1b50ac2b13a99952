package sqlite

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/leasehold/leasehold/store/sqlite/internal/dbfile"
)

// TestCommitUsesTheReserve: a commit that finds no room is written all the
// same, in the reserve's space, and the reserve comes back.
func TestCommitUsesTheReserve(t *testing.T) {
	restoreEvery = 50 * time.Millisecond
	defer func() { restoreEvery = 5 * time.Second }()
	j := newJournal(t, Options{Reserve: 1 << 20})
	reserve := j.path + ".reserve"
	if info, err := os.Stat(reserve); err != nil || info.Size() != 1<<20 {
		t.Fatalf("the reserve is %v, %v; want 1 MiB", info, err)
	}
	if err := dbfile.Run(j.writer.Conn, "PRAGMA max_page_count = 10"); err != nil { // of this connection
		t.Fatal(err)
	}
	mustCommit(t, j, batchOf(2000))
	if rows, _ := mustLoad(t, j); len(rows) != 2000 {
		t.Errorf("Load() = %d rows, want 2000", len(rows))
	}
	for deadline := time.Now().Add(30 * time.Second); j.LowOnSpace(); {
		if time.Now().After(deadline) {
			t.Fatal("the reserve did not come back")
		}
		time.Sleep(10 * time.Millisecond) // a real file on a real disk
	}
	if info, err := os.Stat(reserve); err != nil || info.Size() != 1<<20 {
		t.Errorf("the reserve is %v, %v afterwards; want 1 MiB", info, err)
	}
	j.reserve.close() // its goroutine reads restoreEvery
}

// TestFillUp: a file takes up space by being written where the system has no
// other way.
func TestFillUp(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	const size = 3<<20 + 7
	if err := fillUp(file, size); err != nil {
		t.Fatalf("fillUp() = %v", err)
	}
	if info, err := file.Stat(); err != nil || info.Size() != size {
		t.Errorf("the file is %v, %v; want %d bytes", info, err, size)
	}
}

// A reserve that cannot be made counts as given up, and a server starts without.
func TestReserveCannotBeMade(t *testing.T) {
	r := newReserve(filepath.Join(t.TempDir(), "leases.db"), Options{Reserve: 1 << 20, Logger: slog.New(slog.DiscardHandler)})
	if err := os.MkdirAll(filepath.Join(r.path, "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	r.create()
	if !r.freed.Load() {
		t.Error("the reserve counts as there")
	}
	if r.tryRestore() {
		t.Error("tryRestore() made it in place of a directory")
	}
	r.close()
	r.remove(nil) // a commit that fails while the store closes
	if err := (&Options{Reserve: -1}).validate(); err == nil {
		t.Error("a reserve of -1 bytes was accepted")
	}
}

func TestReplaceFails(t *testing.T) {
	dir := t.TempDir()
	from := filepath.Join(dir, "from")
	if err := replace(from, filepath.Join(dir, "to")); err == nil {
		t.Error("a file that is not there was renamed")
	}
	if err := createEmpty(from); err != nil {
		t.Fatal(err)
	}
	if err := replace(from, filepath.Join(dir, "missing", "to")); err == nil {
		t.Error("a file was renamed into a directory that is not there")
	}
	if err := createEmpty(filepath.Join(dir, "missing", "from")); err == nil {
		t.Error("a file was made in a directory that is not there")
	}
	if n := sizeOf(filepath.Join(dir, "none")); n > 0 {
		t.Errorf("a file that is not there has %d bytes", n)
	}
}
