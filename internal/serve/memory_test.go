//go:build unix

package serve

import (
	"os"
	"path/filepath"
	"testing"
)

// TestStaleMemoryIsRemoved: the directory of a killed server is removed by the next
// one, that of a running server is not.
func TestStaleMemoryIsRemoved(t *testing.T) {
	root := t.TempDir()
	made := func(name string) (dir string, lock *os.File) {
		dir = filepath.Join(root, memoryPrefix+name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		lock, err := os.Create(filepath.Join(dir, memoryLock))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { lock.Close() })
		return dir, lock
	}
	dead, _ := made("dead")
	live, lock := made("live")
	if err := tryLock(lock); err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(root, "somebody-else")
	young := filepath.Join(root, memoryPrefix+"young") // has no lock file yet
	for _, dir := range []string{foreign, young} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	removeStale(root)
	for dir, stays := range map[string]bool{dead: false, live: true, foreign: true, young: true} {
		if _, err := os.Stat(dir); (err == nil) != stays {
			t.Errorf("%s: %v; want it to stay: %v", filepath.Base(dir), err, stays)
		}
	}
}

func TestMemoryDir(t *testing.T) {
	dir, remove, err := memoryDir()
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("Stat(%s) = %v, %v; want mode 0700", dir, info, err)
	}
	if err := remove(); err != nil {
		t.Errorf("remove = %v", err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("after remove, Stat(%s) = %v", dir, err)
	}
}
