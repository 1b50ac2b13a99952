package content

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"
)

// InlineLimit is the number of bytes up to which a chunk is stored in the caller's
// database instead of a file.
const InlineLimit = 64 << 10

var (
	// ErrTooLarge: the sender has more bytes than the limit, or than it announced.
	ErrTooLarge = errors.New("content: too many bytes")
	// ErrShort: the sender came to its end before the bytes that it announced.
	ErrShort = errors.New("content: too few bytes")
	// ErrSource marks an error of the reader given to Write, which stands beside
	// it in the chain. Other errors of Write are the disk's.
	ErrSource = errors.New("content: cannot read what is to be written")
	// ErrDamaged: a chunk's bytes are not those that were written, or are gone.
	ErrDamaged = errors.New("content: damaged chunk")
	// ErrFull: there is no space for what was to be written.
	ErrFull = errors.New("content: no space left")
	// ErrRange: the caller asked for bytes that the chunk does not have.
	ErrRange = errors.New("content: no such range")
)

// Chunk is a run of bytes that never changes. The caller keeps all four fields.
type Chunk struct {
	ID   int64
	Size int64
	// CRC is Azure's CRC64 of the bytes, the one of UpdateCRC.
	CRC uint64
	// Inline has the bytes of a small chunk; nil says that they are in a file.
	// An empty chunk never has one, so a database that cannot tell nil from
	// empty does no harm.
	Inline []byte
}

// Sums are checksums of what was written, for headers.
type Sums struct {
	MD5 [16]byte
	CRC uint64
}

func (c Chunk) inFile() bool { return c.Inline == nil && c.Size > 0 }

// damaged says what is wrong with the chunk: a string, or an error to wrap.
func (c Chunk) damaged(how any) error {
	if err, ok := how.(error); ok {
		return fmt.Errorf("%w: chunk %d: %w", ErrDamaged, c.ID, err)
	}
	return fmt.Errorf("%w: chunk %d: %v", ErrDamaged, c.ID, how)
}

func (c Chunk) checkSize(size int64) error {
	if size != c.Size {
		return c.damaged(fmt.Sprintf("%d bytes, want %d", size, c.Size))
	}
	return nil
}

// disk marks an error of the file system as this package's.
func diskError(err error) error {
	const diskFull = syscall.Errno(112) // ERROR_DISK_FULL
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), runtime.GOOS == "windows" && errors.Is(err, diskFull):
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return fmt.Errorf("content: %w", err)
}
