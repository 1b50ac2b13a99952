package content

import (
	"bytes"
	"crypto/md5"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// bufferSize is how much of a stream is in memory. It is more than InlineLimit,
// so that the first buffer shows whether a stream of unknown size needs a file.
const bufferSize = 128 << 10

// Write stores all of r, at most limit bytes: ErrTooLarge beyond. Size is what
// the sender announced, or -1; with fewer or more bytes than that it fails with
// ErrShort or ErrTooLarge. An error of r comes back wrapped, beside ErrSource.
// After an error nothing stays behind.
//
// When Write returns, a file is durable under its final name; an inline chunk is
// as durable as the caller makes it. However much r has, no more than InlineLimit
// and one buffer are in memory.
func (s *Store) Write(r io.Reader, size, limit int64) (Chunk, Sums, error) {
	if err := errors.Join(s.checkOpen(), s.CheckSpace()); err != nil {
		return Chunk{}, Sums{}, err
	}
	in := source{r: r, size: size, limit: limit}
	if size > limit {
		return Chunk{}, Sums{}, in.tooLarge()
	}
	if size >= 0 && size <= InlineLimit {
		return s.writeSmall(&in)
	}
	w := copyBuffers.Get().(*copyBuffer)
	defer copyBuffers.Put(w)
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
func (s *Store) writeSmall(in *source) (Chunk, Sums, error) {
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
func (s *Store) writeFile(in *source, w *copyBuffer, n int, done bool) (Chunk, Sums, error) {
	file, err := os.CreateTemp(s.tmp, "*")
	if err != nil {
		return Chunk{}, Sums{}, diskError(err)
	}
	sums, err := w.copy(file, in, n, done)
	if err == nil { // zeros at the end were only counted
		err = diskError(file.Truncate(in.got))
	}
	if err == nil {
		err = diskError(s.sync.file(file))
	}
	if closing := file.Close(); err == nil {
		err = diskError(closing)
	}
	var id int64
	if err == nil {
		id, err = s.publish(file.Name())
	}
	if err != nil {
		_ = os.Remove(file.Name())
		return Chunk{}, Sums{}, err
	}
	return Chunk{ID: id, Size: in.got, CRC: sums.CRC}, sums, nil
}

// publish gives a file that is complete and synced its id and its final name,
// and makes that name durable.
func (s *Store) publish(temp string) (int64, error) {
	id, f, nth, err := s.rename(temp)
	if err != nil {
		return 0, err
	}
	if err := f.sync(nth, s.sync.dir); err != nil {
		_ = os.Remove(s.path(id))
		return 0, diskError(err)
	}
	return id, nil
}

// rename moves the file to where its id says. It is the nth of its folder. The id
// is drawn under the lock, so that a folder that the ids have passed gets no file
// any more.
func (s *Store) rename(temp string) (id int64, f *folder, nth int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkOpen(); err != nil {
		return 0, nil, 0, err
	}
	id = s.last.Add(1)
	if f, err = s.openFolder(id / perFolder); err != nil {
		return 0, nil, 0, diskError(err)
	}
	if err := os.Rename(temp, filepath.Join(f.path, strconv.FormatInt(id, 10))); err != nil {
		s.folder = nil // it may be gone: look again
		return 0, nil, 0, diskError(err)
	}
	return id, f, f.files.Add(1), nil
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
	// An existing one may come from a process that ended before its sync.
	if err := s.sync.dir(s.chunks); err != nil {
		return nil, err
	}
	s.folder = f
	return f, nil
}

// Reader reads [offset, offset+n) of a chunk, ErrRange if the chunk has no such
// bytes.
//
// A file that is gone or has not the chunk's size is ErrDamaged at once. Reading
// a whole chunk checks its CRC: of a damaged one the last bytes are withheld and
// ErrDamaged comes in their place, so that nobody trusts the whole, not even a
// reader who counts bytes and never reads up to io.EOF.
func (s *Store) Reader(c Chunk, offset, n int64) (io.ReadCloser, error) {
	if err := s.checkOpen(); err != nil {
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
		return nil, diskError(err)
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

// Check reads the whole chunk and compares size and CRC; ErrDamaged if they
// differ.
func (s *Store) Check(c Chunk) error {
	r, err := s.Reader(c, 0, c.Size)
	if err != nil {
		return err
	}
	w := copyBuffers.Get().(*copyBuffer)
	defer copyBuffers.Put(w)
	for err == nil {
		_, err = r.Read(w.buf)
	}
	if err == io.EOF { //nolint:errorlint // ours
		err = nil
	}
	return errors.Join(err, r.Close())
}
