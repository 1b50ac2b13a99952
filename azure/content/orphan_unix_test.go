//go:build unix

package content

import (
	"os"
	"path/filepath"
	"testing"
)

// TestFolderRemovedWhileRead: prune may remove a folder between its opening and
// its reading.
func TestFolderRemovedWhileRead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "0")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	d, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if got, err := readNumbers(d); err != nil || len(got) != 0 {
		t.Errorf("readNumbers(a removed folder) = %v, %v, want nothing", got, err)
	}
}
