package content

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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

	// mu is held while a file takes its place and while a directory goes away.
	mu     sync.Mutex
	folder *folder // where files take their places now; nil: not known to be there
}

// Open makes the directory if need be, takes note of the largest id in it and
// deletes what an earlier process left half written.
func Open(dir string, o *Options) (*Store, error) {
	if o == nil {
		o = &Options{}
	}
	s := &Store{dir: dir, chunks: filepath.Join(dir, "chunks"), tmp: filepath.Join(dir, "tmp"), sync: toDisk}
	if o.NoSync {
		s.sync = notAtAll
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

// Close refuses what is asked of the store from now on. Whoever still reads a
// chunk may finish; a Write under way fails.
func (s *Store) Close() error {
	s.mu.Lock() // a file that is taking its place is let in
	defer s.mu.Unlock()
	s.closed.Store(true)
	return nil
}

func (s *Store) usable() error {
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

// syncer makes the bytes of a file and the names in a directory durable.
type syncer struct {
	file func(*os.File) error
	dir  func(path string) error
}

var (
	toDisk   = syncer{file: (*os.File).Sync, dir: fsutil.SyncDir}
	notAtAll = syncer{file: func(*os.File) error { return nil }, dir: func(string) error { return nil }}
)
