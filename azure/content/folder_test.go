package content

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSyncs: a chunk takes one sync of its file while it has not got its name,
// then one of its directory, and a new directory one of the parent.
func TestSyncs(t *testing.T) {
	s := newStore(t, nil)
	var log []string
	state := func() string { return fmt.Sprintf("%d tmp %d chunks", len(tree(t, s.tmp)), len(tree(t, s.chunks))) }
	s.sync.file = func(f *os.File) error {
		info, err := f.Stat()
		log = append(log, fmt.Sprintf("file of %d: %s", info.Size(), state()))
		return err
	}
	s.sync.dir = func(dir string) error {
		log = append(log, filepath.Base(dir)+": "+state())
		return nil
	}
	mustWrite(t, s, noise(1, 10)) // id 1
	mustWrite(t, s, noise(1, InlineLimit+1))
	mustWrite(t, s, noise(1, InlineLimit+2))
	s.Reserve(999)
	mustWrite(t, s, noise(1, InlineLimit+3))
	want := []string{
		"file of 65537: 1 tmp 0 chunks", "chunks: 1 tmp 0 chunks", "0: 0 tmp 1 chunks",
		"file of 65538: 1 tmp 1 chunks", "0: 0 tmp 2 chunks",
		"file of 65539: 1 tmp 2 chunks", "chunks: 1 tmp 2 chunks", "1: 0 tmp 3 chunks",
	}
	if diff := cmp.Diff(want, log); diff != "" {
		t.Errorf("syncs (-want +got):\n%s", diff)
	}
}

// TestSharedSync: writers who wait while the directory is synced are all served
// by the next sync.
func TestSharedSync(t *testing.T) {
	const writers = 10
	s := newStore(t, nil)
	mustWrite(t, s, noise(1, InlineLimit+1)) // makes the folder
	var syncs atomic.Int64
	began, goOn := make(chan bool, writers), make(chan bool)
	s.sync.dir = func(string) error {
		syncs.Add(1)
		began <- true
		<-goOn
		return nil
	}
	var all sync.WaitGroup
	write := func() { mustWrite(t, s, noise(1, InlineLimit+1)) }
	all.Go(write)
	<-began
	for range writers {
		all.Go(write)
	}
	for s.folder.files.Load() < 1+1+writers {
		runtime.Gosched()
	}
	close(goOn)
	all.Wait()
	if got := syncs.Load(); got != 2 {
		t.Errorf("%d writers took %d syncs, want 2", 1+writers, got)
	}
}

// TestFailingDisk: whatever fails, Write says so, leaves nothing behind, and
// works again when the disk does.
func TestFailingDisk(t *testing.T) {
	fail := func(string) error { return errDisk }
	for name, c := range map[string]struct {
		harm, heal func(*Store)
		want       error
	}{
		"file":   {harm: func(s *Store) { s.sync.file = func(*os.File) error { return errDisk } }, want: errDisk},
		"folder": {harm: func(s *Store) { s.sync.dir = fail }, want: errDisk},
		"new folder": {harm: func(s *Store) {
			s.Reserve(1000)
			s.sync.dir = fail
		}, want: errDisk},
		"closed file": {harm: func(s *Store) { s.sync.file = (*os.File).Close }, want: os.ErrClosed},
		"no tmp": {
			harm: func(s *Store) { os.Remove(s.tmp) },
			heal: func(s *Store) { os.Mkdir(s.tmp, 0o700) }, want: os.ErrNotExist,
		},
		"no folder": {harm: func(s *Store) { os.Remove(s.folder.path) }, want: os.ErrNotExist},
		"no chunks": {
			harm: func(s *Store) { os.RemoveAll(s.chunks) },
			heal: func(s *Store) { os.Mkdir(s.chunks, 0o700) }, want: os.ErrNotExist,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, nil)
			s.Discard(mustWrite(t, s, noise(1, InlineLimit+1))) // makes the folder
			c.harm(s)
			for range 2 {
				if got, _, err := s.Write(io.LimitReader(zeros{}, 300_000), -1, 1<<20); !errors.Is(err, c.want) {
					t.Errorf("Write() = %v, %v, want %v", got, err, c.want)
				}
				if left := tree(t, s.dir); len(left) > 0 {
					t.Errorf("Write() left %q behind", left)
				}
				if name == "no folder" { // which heals itself
					break
				}
			}
			s.sync = syncToDisk
			if c.heal != nil {
				c.heal(s)
			}
			if err := s.Check(mustWrite(t, s, noise(2, 300_000))); err != nil {
				t.Errorf("Check() of a chunk written afterwards = %v", err)
			}
		})
	}
}

// TestWriteFails: the write itself fails.
func TestWriteFails(t *testing.T) {
	file, err := os.Open(os.DevNull) // not for writing
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w := copyBuffers.Get().(*copyBuffer)
	defer copyBuffers.Put(w)
	if _, err := w.copy(file, &source{r: zeros{}}, 10, false); err == nil {
		t.Errorf("copy() to a file that is not for writing succeeded")
	}
}
