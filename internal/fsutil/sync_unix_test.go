//go:build unix

package fsutil

import (
	"path/filepath"
	"testing"
)

func TestSyncDir(t *testing.T) {
	dir := t.TempDir()
	if err := SyncDir(dir); err != nil {
		t.Errorf("SyncDir(%q) = %v, want nil", dir, err)
	}
	if err := SyncDir(filepath.Join(dir, "none")); err == nil {
		t.Error("SyncDir() without a directory = nil, want an error")
	}
}
