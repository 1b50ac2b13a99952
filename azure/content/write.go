package content

import (
	"bytes"
	"crypto/md5"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"runtime"
	"sync"
	"syscall"
)

// bufferSize is how much of a stream is in memory. It is more than InlineLimit,
// so that the first buffer shows whether a stream of unknown size needs a file.
const bufferSize = 128 << 10

// scratch is what it takes to copy a stream, kept for the next one.
type scratch struct {
	buf []byte
	md5 hash.Hash
}

var (
	scratches = sync.Pool{New: func() any { return &scratch{buf: make([]byte, bufferSize), md5: md5.New()} }}
	probes    = sync.Pool{New: func() any { return new([1]byte) }}
)

// Write takes all of r, at most limit bytes: ErrTooLarge beyond. Size is what
// the sender announced, or -1; with fewer or more bytes than that it fails with
// ErrShort or ErrTooLarge. An error of r comes back wrapped, beside ErrSource.
// After an error nothing stays behind.
//
// When Write returns, a file is durable under its final name; an inline chunk is
// as durable as the caller makes it. However much r has, no more than InlineLimit
// and one buffer are in memory.
func (s *Store) Write(r io.Reader, size, limit int64) (Chunk, Sums, error) {
	if err := errors.Join(s.usable(), s.CheckSpace()); err != nil {
		return Chunk{}, Sums{}, err
	}
	in := intake{r: r, size: size, limit: limit}
	if size > limit {
		return Chunk{}, Sums{}, in.tooLarge()
	}
	if size >= 0 && size <= InlineLimit {
		return s.writeSmall(&in)
	}
	w := scratches.Get().(*scratch)
	defer scratches.Put(w)
	n, done, err := in.fill(w.buf)
	if err != nil {
		return Chunk{}, Sums{}, err
	}
	if done && n <= InlineLimit {
		c, sums := s.inline(bytes.Clone(w.buf[:n]))
		return c, sums, nil
	}
	return s.writeFile(&in, w, n, done)
}

// writeSmall reads what is announced to be small into memory of its own.
func (s *Store) writeSmall(in *intake) (Chunk, Sums, error) {
	data := make([]byte, in.size)
	_, done, err := in.fill(data)
	if err == nil && !done { // it must have no more
		probe := probes.Get().(*[1]byte)
		_, _, err = in.fill(probe[:])
		probes.Put(probe)
	}
	if err != nil {
		return Chunk{}, Sums{}, err
	}
	c, sums := s.inline(data)
	return c, sums, nil
}

func (s *Store) inline(data []byte) (Chunk, Sums) {
	sums := Sums{MD5: md5.Sum(data), CRC: UpdateCRC(0, data)}
	return Chunk{ID: s.last.Add(1), Size: int64(len(data)), CRC: sums.CRC, Inline: data}, sums
}

// writeFile writes the n bytes in w's buffer and, unless the sender is done, the
// rest of what it sends.
func (s *Store) writeFile(in *intake, w *scratch, n int, done bool) (Chunk, Sums, error) {
	file, err := os.CreateTemp(s.tmp, "*")
	if err != nil {
		return Chunk{}, Sums{}, disk(err)
	}
	sums, err := w.copy(file, in, n, done)
	if err == nil { // zeros at the end were only counted
		err = disk(file.Truncate(in.got))
	}
	if err == nil {
		err = disk(s.sync.file(file))
	}
	if closing := file.Close(); err == nil {
		err = disk(closing)
	}
	var id int64
	if err == nil {
		id, err = s.place(file.Name())
	}
	if err != nil {
		_ = os.Remove(file.Name())
		return Chunk{}, Sums{}, err
	}
	return Chunk{ID: id, Size: in.got, CRC: sums.CRC}, sums, nil
}

func (w *scratch) copy(file *os.File, in *intake, n int, done bool) (Sums, error) {
	var sums Sums
	var at int64
	w.md5.Reset()
	for {
		w.md5.Write(w.buf[:n])
		sums.CRC = UpdateCRC(sums.CRC, w.buf[:n])
		if err := writeSparse(file, w.buf[:n], at); err != nil {
			return sums, disk(err)
		}
		at += int64(n)
		if done {
			w.md5.Sum(sums.MD5[:0])
			return sums, nil
		}
		var err error
		if n, done, err = in.fill(w.buf); err != nil {
			return sums, err
		}
	}
}

// sparseUnit is what a file system can leave out.
const sparseUnit = 4 << 10

var zeroUnit [sparseUnit]byte

// writeSparse writes bytes at a place of a new file, which begins at a multiple
// of the unit, and leaves out units of zeros: they read as such all the same. So
// a copy of a page blob's gaps takes no space, however large they are.
func writeSparse(file *os.File, p []byte, at int64) error {
	for len(p) > 0 {
		zeros, data := 0, 0
		for len(p)-zeros >= sparseUnit && bytes.Equal(p[zeros:zeros+sparseUnit], zeroUnit[:]) {
			zeros += sparseUnit
		}
		p, at = p[zeros:], at+int64(zeros)
		for data < len(p) && (len(p)-data < sparseUnit || !bytes.Equal(p[data:data+sparseUnit], zeroUnit[:])) {
			data = min(data+sparseUnit, len(p))
		}
		if data == 0 {
			return nil
		}
		if _, err := file.WriteAt(p[:data], at); err != nil {
			return err
		}
		p, at = p[data:], at+int64(data)
	}
	return nil
}

// disk marks an error of the file system as this package's.
func disk(err error) error {
	const diskFull = syscall.Errno(112) // ERROR_DISK_FULL
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), runtime.GOOS == "windows" && errors.Is(err, diskFull):
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return fmt.Errorf("content: %w", err)
}
