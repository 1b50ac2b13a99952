package content

import (
	"sync"
	"sync/atomic"
)

// folder is the directory that gets the files at the moment.
type folder struct {
	path   string
	number int64
	files  atomic.Int64 // how many were renamed into it

	mu     sync.Mutex // held while the directory is synced
	synced int64      // how many of those files are durable
}

// sync makes the names of the first n files durable. Those who wait for the lock
// find, as a rule, that its last holder synced their files too.
func (f *folder) sync(n int64, dir func(path string) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.synced >= n {
		return nil
	}
	files := f.files.Load()
	if err := dir(f.path); err != nil {
		return err
	}
	f.synced = files
	return nil
}
