package content

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
)

// folder is the directory in which files take their places at the moment.
type folder struct {
	path    string
	number  int64
	entered atomic.Int64 // how many files took their places

	mu     sync.Mutex // held by whoever syncs the directory
	synced int64      // how many of those files are durable
}

// place gives a file that is complete and synced its id and its name for good,
// and makes that name durable.
func (s *Store) place(temp string) (int64, error) {
	id, f, turn, err := s.enter(temp)
	if err != nil {
		return 0, err
	}
	if err := f.sync(turn, s.sync.dir); err != nil {
		_ = os.Remove(s.path(id))
		return 0, disk(err)
	}
	return id, nil
}

// enter renames the file. The id is drawn under the lock: a folder that the ids
// have passed is therefore never entered again.
func (s *Store) enter(temp string) (id int64, f *folder, turn int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(); err != nil {
		return 0, nil, 0, err
	}
	id = s.last.Add(1)
	if f, err = s.openFolder(id / perFolder); err != nil {
		return 0, nil, 0, disk(err)
	}
	if err := os.Rename(temp, filepath.Join(f.path, strconv.FormatInt(id, 10))); err != nil {
		s.folder = nil // it may be gone: look again
		return 0, nil, 0, disk(err)
	}
	return id, f, f.entered.Add(1), nil
}

// openFolder returns the folder of that number, durably there. The caller holds mu.
func (s *Store) openFolder(number int64) (*folder, error) {
	if s.folder != nil && s.folder.number == number {
		return s.folder, nil
	}
	f := &folder{path: s.folderPath(number), number: number}
	if err := os.Mkdir(f.path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	// One that is there already may come from a process that did not get this far.
	if err := s.sync.dir(s.chunks); err != nil {
		return nil, err
	}
	s.folder = f
	return f, nil
}

// sync makes the name of the file with that turn durable. Those who wait for
// the lock find, as a rule, that the one who had it did their work too.
func (f *folder) sync(turn int64, dir func(path string) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.synced >= turn {
		return nil
	}
	entered := f.entered.Load()
	if err := dir(f.path); err != nil {
		return err
	}
	f.synced = entered
	return nil
}
