package sqlite

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/leasehold/leasehold/store/sqlite/internal/dbfile"
)

// TestRewriteLog: the log has the same content afterwards.
func TestRewriteLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.db")
	if err := dbfile.RewriteLog(path); err != nil {
		t.Errorf("rewriteLog() without a log = %v", err)
	}
	for _, size := range []int{0, 1, 1 << 20, 1<<20 + 7, 3 << 20} {
		log := make([]byte, size)
		for i := range log {
			log[i] = byte(rand.Uint32())
		}
		write(t, path+"-wal", string(log))
		if err := dbfile.RewriteLog(path); err != nil {
			t.Errorf("rewriteLog(%d bytes) = %v", size, err)
		}
		if got, err := os.ReadFile(path + "-wal"); err != nil || !bytes.Equal(got, log) {
			t.Errorf("rewriteLog(%d bytes) left %d bytes, %v, want the same", size, len(got), err)
		}
	}
	if err := os.Remove(path + "-wal"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path+"-wal", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := dbfile.RewriteLog(path); err == nil {
		t.Error("rewriteLog() of a directory = nil, want an error")
	}
}
