package content

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Reader reads [offset, offset+n) of a chunk, ErrRange if the chunk has no such
// bytes.
//
// A file that is gone or has not the chunk's size is ErrDamaged at once. Reading
// a whole chunk checks its CRC: of a damaged one the last bytes are withheld and
// ErrDamaged comes in their place, so that nobody takes the whole for good, not
// even a reader who counts bytes and never asks for io.EOF.
func (s *Store) Reader(c Chunk, offset, n int64) (io.ReadCloser, error) {
	if err := s.usable(); err != nil {
		return nil, err
	}
	if offset < 0 || n < 0 || offset > c.Size || n > c.Size-offset {
		return nil, fmt.Errorf("%w: %d bytes from %d on, chunk %d has %d", ErrRange, n, offset, c.ID, c.Size)
	}
	r := &reader{chunk: c, offset: offset, left: n, whole: n == c.Size}
	var err error
	if c.inFile() {
		r.file, err = s.openFile(c)
	} else {
		err = c.checkSize(int64(len(c.Inline)))
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// openFile opens the file of a chunk, which must have the chunk's size.
func (s *Store) openFile(c Chunk) (*os.File, error) {
	file, err := os.Open(s.path(c.ID))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, c.damaged(err)
	}
	if err != nil {
		return nil, disk(err)
	}
	info, err := file.Stat()
	if err == nil {
		err = c.checkSize(info.Size())
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

func (c Chunk) checkSize(size int64) error {
	if size != c.Size {
		return c.damaged(fmt.Sprintf("%d bytes, want %d", size, c.Size))
	}
	return nil
}

// reader is what Reader returns.
type reader struct {
	chunk        Chunk
	file         *os.File // nil: inline
	offset, left int64
	whole        bool
	crc          uint64 // of what was read so far, if the whole is read
	end          error  // what every Read returns from now on
}

func (r *reader) Read(p []byte) (int, error) {
	p = p[:min(int64(len(p)), r.left)]
	var n int
	if r.end == nil {
		n, r.end = r.fetch(p)
	}
	r.offset += int64(n)
	r.left -= int64(n)
	if r.whole {
		r.crc = UpdateCRC(r.crc, p[:n])
	}
	if r.end == nil && r.left == 0 {
		r.end = r.verdict()
		if !errors.Is(r.end, io.EOF) {
			return 0, r.end
		}
	}
	if n > 0 {
		return n, nil
	}
	return 0, r.end
}

func (r *reader) fetch(p []byte) (int, error) {
	if r.file == nil {
		return copy(p, r.chunk.Inline[r.offset:]), nil
	}
	n, err := r.file.ReadAt(p, r.offset)
	switch {
	case errors.Is(err, io.EOF): // it was long enough when it was opened
		return n, r.chunk.damaged(fmt.Sprintf("it ends at %d of %d bytes", r.offset+int64(n), r.chunk.Size))
	case err != nil:
		return n, disk(err)
	}
	return n, nil
}

// verdict on a range that was read to its end.
func (r *reader) verdict() error {
	if r.whole && r.crc != r.chunk.CRC {
		return r.chunk.damaged(fmt.Sprintf("CRC64 %016x, want %016x", r.crc, r.chunk.CRC))
	}
	return io.EOF
}

// Close lets the file go. Reading is over.
func (r *reader) Close() error {
	r.end = fs.ErrClosed
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

// Check reads the whole chunk and compares size and CRC; ErrDamaged if they
// differ.
func (s *Store) Check(c Chunk) error {
	r, err := s.Reader(c, 0, c.Size)
	if err != nil {
		return err
	}
	w := scratches.Get().(*scratch)
	defer scratches.Put(w)
	for err == nil {
		_, err = r.Read(w.buf)
	}
	if err == io.EOF { //nolint:errorlint // ours
		err = nil
	}
	return errors.Join(err, r.Close())
}
