package content

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/leasehold/leasehold/internal/fsutil"
)

// perFolder is the number of ids that share a sub-directory, so that none gets
// huge.
const perFolder = 1000

// Options of Open.
type Options struct {
	// NoSync leaves it to the system when bytes reach the disk: for data that
	// may be thrown away. Default false: what Write returned survives a power cut.
	NoSync bool

	// Full reports that the disk is full, so that nothing is written until it is
	// not. Default: that is found out by writing.
	Full func() bool
}

// Store keeps chunks below one directory. Its methods may be called by several
// goroutines at once.
type Store struct {
	dir, chunks, tmp string
	sync             syncer
	full             func() bool
	opened           int64 // the largest id on disk when the store was opened
	last             atomic.Int64
	closed           atomic.Bool

	// mu is held while a file gets its final name and while a directory is removed.
	mu     sync.Mutex
	folder *folder // gets the files now; nil: not known to exist
}

// Open makes the directory if need be, finds the largest id in it and
// deletes what an earlier process left half written.
func Open(dir string, o *Options) (*Store, error) {
	if o == nil {
		o = &Options{}
	}
	s := &Store{dir: dir, chunks: filepath.Join(dir, "chunks"), tmp: filepath.Join(dir, "tmp"), sync: syncToDisk}
	if o.NoSync {
		s.sync = noSync
	}
	if s.full = o.Full; s.full == nil {
		s.full = func() bool { return false }
	}
	if err := s.prepare(); err != nil {
		return nil, fmt.Errorf("content: open %s: %w", dir, err)
	}
	return s, nil
}

func (s *Store) prepare() error {
	if err := os.RemoveAll(s.tmp); err != nil {
		return err
	}
	for _, dir := range []string{s.chunks, s.tmp} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	for _, dir := range []string{s.dir, filepath.Dir(s.dir)} {
		if err := s.sync.dir(dir); err != nil {
			return err
		}
	}
	largest, err := s.largest()
	s.opened = largest
	s.last.Store(largest)
	return err
}

// Close makes later calls fail. Readers of chunks may finish; a Write under way
// fails.
func (s *Store) Close() error {
	s.mu.Lock() // a rename under way is waited for
	defer s.mu.Unlock()
	s.closed.Store(true)
	return nil
}

func (s *Store) checkOpen() error {
	if s.closed.Load() {
		return fmt.Errorf("content: the store is closed: %w", fs.ErrClosed)
	}
	return nil
}

// CheckSpace returns ErrFull while the disk is known to be full.
func (s *Store) CheckSpace() error {
	if s.full() {
		return ErrFull
	}
	return nil
}

// Reserve makes ids given out from now on larger than this one, and leaves them
// larger than any file on disk.
//
// Small chunks have an id and no file, so only the caller knows the largest one.
func (s *Store) Reserve(largestKnown int64) {
	for {
		last := s.last.Load()
		if last >= largestKnown || s.last.CompareAndSwap(last, largestKnown) {
			return
		}
	}
}

func (s *Store) folderPath(number int64) string {
	return filepath.Join(s.chunks, strconv.FormatInt(number, 10))
}

func (s *Store) path(id int64) string {
	return filepath.Join(s.folderPath(id/perFolder), strconv.FormatInt(id, 10))
}

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
	if err := s.checkOpen(); err != nil {
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
			errs = append(errs, diskError(err))
		}
	}
	for number := range folders {
		s.prune(number)
	}
	return errors.Join(errs...)
}

// prune removes a folder if it is empty and gets no more files.
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
	if err := s.checkOpen(); err != nil {
		return err
	}
	old, err := s.moveAside()
	if err == nil {
		err = os.RemoveAll(old) // what a crash leaves of it, Open deletes
	}
	return diskError(err)
}

// moveAside replaces the directory by an empty one and returns where the old one
// is now: in one step, so that no chunk written later is deleted with the others.
func (s *Store) moveAside() (string, error) {
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

// Orphans calls orphan for each file that known does not know, in the order of
// the ids, among those that were there when the store was opened: a younger one
// may belong to a row that is about to be committed.
//
// Known is asked about fewer than 2,000 ids at a time. The walk holds no lock and
// few names; the first error of a callback ends it.
func (s *Store) Orphans(ctx context.Context, known func(ids []int64) (map[int64]bool, error), orphan func(id int64) error) error {
	if err := s.checkOpen(); err != nil {
		return err
	}
	numbers, err := s.numbers(s.chunks)
	if err != nil {
		return err
	}
	var batch []int64
	for _, number := range numbers {
		if err := ctx.Err(); err != nil {
			return err
		}
		ids, err := s.files(number)
		if err != nil {
			return err
		}
		if len(ids) == 0 {
			s.prune(number)
		}
		batch = append(batch, s.atOpen(ids)...)
		if len(batch) >= perFolder {
			if err := reportUnknown(ctx, batch, known, orphan); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	return reportUnknown(ctx, batch, known, orphan)
}

// atOpen returns those of the sorted ids that were on disk at Open.
func (s *Store) atOpen(ids []int64) []int64 {
	n, found := slices.BinarySearch(ids, s.opened)
	if found {
		n++
	}
	return ids[:n]
}

// reportUnknown calls orphan for those ids that known does not know.
func reportUnknown(ctx context.Context, ids []int64, known func([]int64) (map[int64]bool, error), orphan func(int64) error) error {
	if len(ids) == 0 {
		return nil
	}
	has, err := known(ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if has[id] {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := orphan(id); err != nil {
			return err
		}
	}
	return nil
}

// largest returns the largest id on disk, 0 if there is none.
func (s *Store) largest() (int64, error) {
	numbers, err := s.numbers(s.chunks)
	if err != nil {
		return 0, err
	}
	for _, number := range slices.Backward(numbers) {
		ids, err := s.files(number)
		if err != nil {
			return 0, err
		}
		if len(ids) > 0 {
			return ids[len(ids)-1], nil
		}
	}
	return 0, nil
}

// files returns the ids in a folder, sorted; what does not belong there is not
// the store's and is left alone.
func (s *Store) files(number int64) ([]int64, error) {
	ids, err := s.numbers(s.folderPath(number))
	return slices.DeleteFunc(ids, func(id int64) bool { return id/perFolder != number }), err
}

// numbers returns the names in a directory that are numbers as the store writes
// them, sorted; none if it is gone meanwhile.
func (s *Store) numbers(dir string) ([]int64, error) {
	d, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, diskError(err)
	}
	defer d.Close()
	return readNumbers(d)
}

// readNumbers reads an open directory. One that is removed meanwhile was empty.
func readNumbers(d *os.File) ([]int64, error) {
	var numbers []int64
	for {
		names, err := d.Readdirnames(perFolder) // a million names would be a hundred megabytes
		for _, name := range names {
			n, err := strconv.ParseInt(name, 10, 64)
			if err == nil && n >= 0 && strconv.FormatInt(n, 10) == name {
				numbers = append(numbers, n)
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, fs.ErrNotExist) {
			slices.Sort(numbers)
			return numbers, nil
		}
		if err != nil {
			return nil, diskError(err)
		}
	}
}

// syncer makes the bytes of a file and the names in a directory durable.
type syncer struct {
	file func(*os.File) error
	dir  func(path string) error
}

var (
	syncToDisk = syncer{file: (*os.File).Sync, dir: fsutil.SyncDir}
	noSync     = syncer{file: func(*os.File) error { return nil }, dir: func(string) error { return nil }}
)
