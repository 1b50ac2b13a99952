package content

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestOpenFindsTheLargestID: ids go on after the largest one on disk, whatever
// else lies there.
func TestOpenFindsTheLargestID(t *testing.T) {
	for name, c := range map[string]struct {
		files []string
		want  int64
	}{
		"nothing":         {nil, 1},
		"some":            {[]string{"0/7", "0/12", "0/9"}, 13},
		"several folders": {[]string{"0/999", "2/2000", "10/10003", "9/9999"}, 10004},
		"foreign names":   {[]string{"0/7", "0/08", "0/+9", "0/-1", "0/x", "0/1000", "3/12", "lost+found/99", "007/7000", "-1/-1000"}, 8},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, file := range c.files {
				mkfile(t, filepath.Join(dir, "chunks", file), nil)
			}
			os.MkdirAll(filepath.Join(dir, "chunks", "77"), 0o700) // empty
			s := openStore(t, dir, nil)
			if got := mustWrite(t, s, nil).ID; got != c.want {
				t.Errorf("the first id after %q = %d, want %d", c.files, got, c.want)
			}
			if got := tree(t, s.chunks); len(got) != len(c.files) {
				t.Errorf("Open() left %q of %q", got, c.files)
			}
		})
	}
}

func TestOpenEmptiesTmp(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	mkfile(t, filepath.Join(dir, "tmp", "123"), []byte("half"))
	mkfile(t, filepath.Join(dir, "tmp", "cleared-1", "chunks", "0", "1"), nil)
	if left := tree(t, openStore(t, dir, nil).dir); len(left) > 0 {
		t.Errorf("Open() left %q", left)
	}
}

func TestOpenErrors(t *testing.T) {
	for name, spoil := range map[string]string{"directory": ".", "chunks": "chunks", "folder": "chunks/3", "below a file": ".."} {
		dir := filepath.Join(t.TempDir(), "a", "b")
		mkfile(t, filepath.Join(dir, filepath.FromSlash(spoil)), nil)
		if s, err := Open(dir, nil); err == nil || s != nil {
			t.Errorf("Open() with a file as its %s = %v, %v, want an error", name, s, err)
		}
	}
	for after := range 2 {
		s := &Store{dir: t.TempDir(), sync: syncToDisk}
		s.chunks, s.tmp = filepath.Join(s.dir, "chunks"), filepath.Join(s.dir, "tmp")
		s.sync.dir = failing(after)
		if err := s.prepare(); !errors.Is(err, errDisk) {
			t.Errorf("prepare() with failing sync %d = %v, want %v", after, err, errDisk)
		}
	}
}

var errDisk = errors.New("the disk fails")

// failing returns a sync that fails after a number of good ones.
func failing(after int) func(string) error {
	return func(string) error {
		if after--; after < 0 {
			return errDisk
		}
		return nil
	}
}

func TestReserve(t *testing.T) {
	s := newStore(t, throwAway)
	for _, c := range []struct{ reserve, want int64 }{{0, 1}, {-5, 2}, {2, 3}, {1, 4}, {1999, 2000}} {
		s.Reserve(c.reserve)
		if got := mustWrite(t, s, noise(1, InlineLimit+1)).ID; got != c.want {
			t.Errorf("the id after Reserve(%d) = %d, want %d", c.reserve, got, c.want)
		}
	}
}

func TestClosed(t *testing.T) {
	s := newStore(t, throwAway)
	c := mustWrite(t, s, noise(1, InlineLimit+1))
	open, err := s.Reader(c, 0, c.Size)
	if err != nil {
		t.Fatal(err)
	}
	midway := io.MultiReader(io.LimitReader(zeros{}, 2*bufferSize), whenRead(func() { s.Close() }))
	if _, _, err := s.Write(midway, -1, 1<<20); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Write() across Close() = %v, want %v", err, fs.ErrClosed)
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close() again = %v", err)
	}
	_, _, write := s.Write(bytes.NewReader(nil), 0, 0)
	_, read := s.Reader(c, 0, 1)
	for name, err := range map[string]error{
		"Write": write, "Reader": read, "Remove": s.Remove(c.ID), "Check": s.Check(c), "Clear": s.Clear(),
		"Orphans": s.Orphans(context.Background(), nil, nil),
	} {
		if !errors.Is(err, fs.ErrClosed) {
			t.Errorf("%s() after Close() = %v, want %v", name, err, fs.ErrClosed)
		}
	}
	s.Discard(c)
	if got, err := io.ReadAll(open); err != nil || len(got) != InlineLimit+1 {
		t.Errorf("reading on after Close() = %d bytes, %v", len(got), err)
	}
	if err := open.Close(); err != nil {
		t.Errorf("closing the reader = %v", err)
	}
	if got := tree(t, s.dir); len(got) != 1 {
		t.Errorf("files after Close(): %q, want the one", got)
	}
}

// whenRead is a sender that does something and comes to its end.
type whenRead func()

func (f whenRead) Read([]byte) (int, error) {
	f()
	return 0, io.EOF
}
