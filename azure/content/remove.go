package content

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Discard deletes the file of a chunk whose row was not committed. Should that
// fail, the file is an orphan from the next Open on.
func (s *Store) Discard(c Chunk) {
	if c.inFile() {
		_ = s.Remove(c.ID)
	}
}

// Remove deletes the files of these ids. Missing ones are fine: inline chunks
// have none, and a removal may be repeated. Whatever the error, all were tried.
//
// Nothing is synced. A file that a power cut brings back has no row, and so is
// an orphan.
func (s *Store) Remove(ids ...int64) error {
	if err := s.usable(); err != nil {
		return err
	}
	var errs []error
	folders := make(map[int64]bool)
	for _, id := range ids {
		err := os.Remove(s.path(id))
		switch {
		case err == nil:
			folders[id/perFolder] = true
		case !errors.Is(err, fs.ErrNotExist):
			errs = append(errs, disk(err))
		}
	}
	for number := range folders {
		s.prune(number)
	}
	return errors.Join(errs...)
}

// prune removes a folder if it is empty and no file will enter it any more.
func (s *Store) prune(number int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if number < s.last.Load()/perFolder {
		_ = os.Remove(s.folderPath(number)) // refused while there is a file in it
	}
}

// Clear deletes every chunk. A Write that begins later is safe; one under way may
// fail, or end before or after it. Ids go on growing.
func (s *Store) Clear() error {
	if err := s.usable(); err != nil {
		return err
	}
	old, err := s.putAside()
	if err == nil {
		err = os.RemoveAll(old) // what a crash leaves of it, Open deletes
	}
	return disk(err)
}

// putAside begins anew with an empty directory and returns where the old one is
// now: in one step, so that no chunk written later is deleted with the others.
func (s *Store) putAside() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, err := os.MkdirTemp(s.tmp, "cleared-*")
	if err != nil {
		return "", err
	}
	s.folder = nil
	if err := os.Rename(s.chunks, filepath.Join(old, "chunks")); err != nil {
		return "", err
	}
	if err := os.Mkdir(s.chunks, 0o700); err != nil {
		return "", err
	}
	return old, s.sync.dir(s.dir)
}
