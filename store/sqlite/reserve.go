package sqlite

import (
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leasehold/leasehold/store/sqlite/internal/dbfile"
)

// reserve is a file beside the database that takes up space until the disk is
// full. It is then deleted, so that leases and deletes go on, and made again
// when there is room.
type reserve struct {
	path string
	size int64
	log  *slog.Logger

	freed atomic.Bool // and not restored yet

	mu      sync.Mutex // held while the file changes
	closed  bool
	stop    chan struct{}
	running sync.WaitGroup // the goroutine that restores it
}

// restoreEvery is how often restoring the reserve is tried. A variable only
// because tests would have to wait for it.
var restoreEvery = 5 * time.Second

// newReserve touches no file yet: the caller locks the database first.
func newReserve(database string, o Options) *reserve {
	return &reserve{path: database + ".reserve", size: o.Reserve, log: o.Logger, stop: make(chan struct{})}
}

// create makes the file, as large as it should be. On a disk without room for it
// the reserve counts as freed.
func (r *reserve) create() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.size == 0 {
		return // another process's stays: it will need it again
	}
	if err := r.allocate(); err != nil {
		r.remove(err)
	}
}

// free deletes the file, and reports whether there may be more space now: also
// after an attempt to restore the reserve, which may use the last for a moment.
func (r *reserve) free(cause error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := os.Stat(r.path); err != nil {
		return r.freed.Load()
	}
	r.remove(cause)
	return true
}

// remove deletes the file and starts to restore it. mu is held.
func (r *reserve) remove(cause error) {
	// Truncated first: a program that copies the directory may have it open.
	_ = os.Truncate(r.path, 0)
	_ = os.Remove(r.path)
	if r.size == 0 || r.closed || r.freed.Load() {
		return
	}
	// Logged first: who is refused for it finds the reason in the log.
	r.log.Warn("the disk is full: the reserve is given up for leases and deletes; free some space",
		"reserve", r.path, "bytes", r.size, "cause", cause)
	r.freed.Store(true)
	r.running.Go(r.restore)
}

// restore tries until there is room for the reserve and a quarter more: with less
// it would be freed again the next moment.
func (r *reserve) restore() {
	tick := time.NewTicker(restoreEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-r.stop:
			return
		}
		if r.tryRestore() {
			r.log.Info("the disk has room again: the reserve is restored", "reserve", r.path, "bytes", r.size)
			return
		}
	}
}

func (r *reserve) tryRestore() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	// Checked first: an allocation that fails uses all the space for a moment, in
	// which a commit would fail.
	if free, err := freeSpace(filepath.Dir(r.path)); err != nil || free < r.size+r.size/4 {
		return false
	}
	if r.allocate() != nil {
		_ = os.Remove(r.path)
		return false
	}
	r.freed.Store(false)
	return true
}

// allocate makes the file take up its size on the disk.
func (r *reserve) allocate() error {
	file, err := os.OpenFile(r.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(allocate(file, r.size), file.Close())
}

// close stops the goroutine. The file stays: a server that starts on a full disk
// needs it most.
func (r *reserve) close() {
	r.mu.Lock()
	again := r.closed
	r.closed = true
	r.mu.Unlock()
	if !again {
		close(r.stop)
	}
	r.running.Wait()
}

// fillUp makes a file take up space by writing to it, where the system cannot
// allocate. What it writes cannot be compressed.
func fillUp(file *os.File, size int64) error {
	info, err := file.Stat()
	if err != nil || info.Size() >= size {
		return err
	}
	if _, err := file.Seek(info.Size(), io.SeekStart); err != nil {
		return err
	}
	var seed [32]byte
	_, err = io.CopyN(file, rand.NewChaCha8(seed), size-info.Size())
	return errors.Join(err, file.Sync())
}

// diskFull reports whether nothing can be written beside the file. SQLite does
// not always say why a write failed.
func diskFull(path string) bool {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".probe-*")
	if err != nil {
		return dbfile.NoSpace(err)
	}
	_, err = file.Write(make([]byte, 256<<10))
	err = errors.Join(err, file.Sync(), file.Close())
	_ = os.Remove(file.Name())
	return dbfile.NoSpace(err)
}
