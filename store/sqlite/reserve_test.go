package sqlite

import (
	"os"
	"testing"
	"time"
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
	if err := run(j.writer.conn, "PRAGMA max_page_count = 10"); err != nil { // of this connection
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
