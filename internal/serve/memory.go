package serve

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

const (
	memoryRoot   = "/dev/shm" // where it exists, it is in memory
	memoryPrefix = "leasehold-memory-"
	memoryLock   = "alive"
)

// memoryDir makes a directory for its owner only, in memory where the system has
// such a file system. First it removes those of servers that were killed: nobody
// has their lock any more.
func memoryDir() (dir string, remove func() error, _ error) {
	root := memoryRoot
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		root = os.TempDir()
	}
	removeStale(root)
	dir, err := os.MkdirTemp(root, memoryPrefix)
	if err != nil {
		return "", nil, fmt.Errorf("data directory in memory: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, memoryLock), os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		err = tryLock(lock)
	}
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("data directory in memory: %w", err), os.RemoveAll(dir))
	}
	return dir, func() error { return errors.Join(lock.Close(), os.RemoveAll(dir)) }, nil
}

// removeStale removes the directories of servers that have ended. One without a
// lock file is about to get one.
func removeStale(root string) {
	old, _ := filepath.Glob(filepath.Join(root, memoryPrefix+"*"))
	for _, dir := range old {
		lock, err := os.OpenFile(filepath.Join(dir, memoryLock), os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if tryLock(lock) == nil {
			_ = os.RemoveAll(dir)
		}
		lock.Close()
	}
}
