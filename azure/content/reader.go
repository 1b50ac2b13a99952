package content

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

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
		r.end = r.result()
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
		return n, diskError(err)
	}
	return n, nil
}

// result is what Read returns at the end of the range: io.EOF, or that the chunk
// is damaged.
func (r *reader) result() error {
	if r.whole && r.crc != r.chunk.CRC {
		return r.chunk.damaged(fmt.Sprintf("CRC64 %016x, want %016x", r.crc, r.chunk.CRC))
	}
	return io.EOF
}

// Close closes the file.
func (r *reader) Close() error {
	r.end = fs.ErrClosed
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}
