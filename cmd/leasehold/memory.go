package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

const (
	memoryPlace = "/dev/shm" // where it exists, it is in memory
	memoryName  = "leasehold-memory-"
	memoryLock  = "alive"
)

// memoryDir makes a directory in memory, where the system has such a place, for
// its owner only. First it removes those of servers that were killed and could
// not remove their own: nobody has their lock any more.
func memoryDir() (dir string, remove func() error, _ error) {
	place := memoryPlace
	if info, err := os.Stat(place); err != nil || !info.IsDir() {
		place = os.TempDir()
	}
	sweepMemory(place)
	dir, err := os.MkdirTemp(place, memoryName)
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

// sweepMemory removes what is left of servers that are no more. A directory
// without a lock file is about to get one.
func sweepMemory(place string) {
	old, _ := filepath.Glob(filepath.Join(place, memoryName+"*"))
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
