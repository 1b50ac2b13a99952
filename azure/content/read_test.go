package content

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/iotest"
)

func TestReaderRanges(t *testing.T) {
	s := newStore(t, throwAway)
	for _, size := range []int{0, 1, 1000, InlineLimit, InlineLimit + 1, 300_000} {
		data := noise(2, size)
		c := mustWrite(t, s, data)
		n := int64(size)
		for _, r := range []struct{ offset, n int64 }{{0, n}, {0, 0}, {n, 0}, {0, n / 2}, {n / 2, n - n/2}, {n / 3, n / 3}, {n - n/5, n / 5}} {
			want := data[r.offset : r.offset+r.n]
			got, err := readAll(s, c, r.offset, r.n)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("Reader(%d bytes, %d, %d) gives %d bytes, %v", size, r.offset, r.n, len(got), err)
			}
			reader, err := s.Reader(c, r.offset, r.n)
			if err != nil {
				t.Fatal(err)
			}
			if r.n <= 1000 { // it goes byte by byte
				if err := iotest.TestReader(reader, want); err != nil {
					t.Errorf("Reader(%d bytes, %d, %d): %v", size, r.offset, r.n, err)
				}
			}
			if err := reader.Close(); err != nil {
				t.Errorf("Close() = %v", err)
			}
			if n, err := reader.Read(make([]byte, 1)); n != 0 || !errors.Is(err, fs.ErrClosed) {
				t.Errorf("Read() after Close() = %d, %v, want %v", n, err, fs.ErrClosed)
			}
		}
		for _, r := range []struct{ offset, n int64 }{{-1, 1}, {0, -1}, {0, n + 1}, {n + 1, 0}, {n, 1}, {1, math.MaxInt64}, {math.MaxInt64, 1}} {
			if got, err := s.Reader(c, r.offset, r.n); !errors.Is(err, ErrRange) || got != nil {
				t.Errorf("Reader(%d bytes, %d, %d) = %v, %v, want %v", size, r.offset, r.n, got, err, ErrRange)
			}
		}
	}
}

// TestEmptyFromADatabase: some databases give nil for an empty value.
func TestEmptyFromADatabase(t *testing.T) {
	s := newStore(t, throwAway)
	c := mustWrite(t, s, nil)
	if c.Inline == nil {
		t.Errorf("Write() of nothing gave no inline bytes")
	}
	c.Inline = nil
	if err := s.Check(c); err != nil {
		t.Errorf("Check() of an empty chunk without bytes = %v", err)
	}
	s.Discard(c)
}

// TestDamage: every kind of damage is noticed before the last byte is given away.
func TestDamage(t *testing.T) {
	flip := func(at int64) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			data[at] ^= 1
			mkfile(t, path, data)
		}
	}
	resize := func(size int64) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			if err := os.Truncate(path, size); err != nil {
				t.Fatal(err)
			}
		}
	}
	const size = 300_000
	for name, c := range map[string]struct {
		harm     func(*testing.T, string)
		atOnce   bool // noticed by Reader itself
		rangeToo bool // and so when a part is read
	}{
		"first bit":   {flip(0), false, false},
		"middle bit":  {flip(size / 2), false, false},
		"last bit":    {flip(size - 1), false, false},
		"truncated":   {resize(size - 1), true, true},
		"emptied":     {resize(0), true, true},
		"longer":      {resize(size + 1), true, true},
		"missing":     {func(t *testing.T, path string) { os.Remove(path) }, true, true},
		"all missing": {func(t *testing.T, path string) { os.RemoveAll(filepath.Dir(filepath.Dir(path))) }, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, throwAway)
			chunk := mustWrite(t, s, noise(3, size))
			c.harm(t, s.path(chunk.ID))
			if err := s.Check(chunk); !errors.Is(err, ErrDamaged) {
				t.Errorf("Check() = %v, want %v", err, ErrDamaged)
			}
			if r, err := s.Reader(chunk, 0, size); errors.Is(err, ErrDamaged) != c.atOnce {
				t.Errorf("Reader() = %v, %v, damage noticed at once: want %v", r, err, c.atOnce)
			} else if r != nil {
				mustWithhold(t, r, size)
			}
			if _, err := readAll(s, chunk, 1, size-1); errors.Is(err, ErrDamaged) != c.rangeToo {
				t.Errorf("reading all but a byte = %v, damage noticed: want %v", err, c.rangeToo)
			}
		})
	}
}

// mustWithhold reads by counting, as an HTTP answer with a length does, and must
// not get everything.
func mustWithhold(t *testing.T, r io.ReadCloser, size int64) {
	t.Helper()
	defer r.Close()
	if n, err := io.CopyN(io.Discard, r, size); n >= size || !errors.Is(err, ErrDamaged) {
		t.Errorf("copying a damaged chunk = %d of %d bytes, %v, want fewer and %v", n, size, err, ErrDamaged)
	}
	if n, err := r.Read(make([]byte, 10)); n > 0 || !errors.Is(err, ErrDamaged) {
		t.Errorf("Read() once more = %d, %v, want %v", n, err, ErrDamaged)
	}
}

func TestInlineDamage(t *testing.T) {
	s := newStore(t, throwAway)
	for name, harm := range map[string]func(*Chunk){
		"bit":     func(c *Chunk) { c.Inline[9] ^= 1 },
		"shorter": func(c *Chunk) { c.Inline = c.Inline[:9] },
		"longer":  func(c *Chunk) { c.Inline = append(c.Inline, 1) },
		"missing": func(c *Chunk) { c.Inline = nil },
		"CRC":     func(c *Chunk) { c.CRC++ },
	} {
		c := mustWrite(t, s, noise(4, 10))
		harm(&c)
		if err := s.Check(c); !errors.Is(err, ErrDamaged) {
			t.Errorf("Check() with damage to its %s = %v, want %v", name, err, ErrDamaged)
		}
	}
	c := mustWrite(t, s, nil)
	c.CRC++
	if err := s.Check(c); !errors.Is(err, ErrDamaged) {
		t.Errorf("Check() of an empty chunk with a wrong CRC = %v, want %v", err, ErrDamaged)
	}
}

// TestTruncatedWhileRead: what goes wrong after the file was opened.
func TestTruncatedWhileRead(t *testing.T) {
	s := newStore(t, throwAway)
	const size = 300_000
	c := mustWrite(t, s, noise(5, size))
	part, err := s.Reader(c, 10, size-20)
	if err != nil {
		t.Fatal(err)
	}
	defer part.Close()
	if err := os.Truncate(s.path(c.ID), size/2); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(part); len(got) != size/2-10 || !errors.Is(err, ErrDamaged) {
		t.Errorf("reading = %d bytes, %v, want %d and %v", len(got), err, size/2-10, ErrDamaged)
	}
}

// TestReadErrors: an error of the disk is returned as such, not as damage.
func TestReadErrors(t *testing.T) {
	s := newStore(t, throwAway)
	c := mustWrite(t, s, noise(6, InlineLimit+1))
	r, err := s.Reader(c, 0, c.Size)
	if err != nil {
		t.Fatal(err)
	}
	r.(*reader).file.Close() // as good as a disk that fails
	if n, err := r.Read(make([]byte, 10)); n != 0 || !errors.Is(err, fs.ErrClosed) || errors.Is(err, ErrDamaged) {
		t.Errorf("Read() from a file that fails = %d, %v, want its error", n, err)
	}
	if err := r.Close(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Close() = %v, want %v", err, fs.ErrClosed)
	}
	os.RemoveAll(s.chunks)
	mkfile(t, s.folderPath(0), nil)
	if _, err := s.Reader(c, 0, 1); err == nil || runtime.GOOS != "windows" && errors.Is(err, ErrDamaged) {
		t.Errorf("Reader() through a file = %v, want an error of the disk", err)
	}
}
