package content

import (
	"fmt"
	"io"
)

// intake reads what a sender sends and holds it to its word about the size.
type intake struct {
	r     io.Reader
	size  int64 // announced, or -1
	limit int64
	got   int64
}

// emptyReads is how often in a row a reader may bring nothing.
const emptyReads = 100

// fill reads until buf is full or the sender is done. It returns ErrTooLarge as
// soon as there is a byte too many.
func (in *intake) fill(buf []byte) (n int, done bool, err error) {
	idle := 0
	for n < len(buf) {
		m, err := in.r.Read(buf[n:])
		n += m
		in.got += int64(m)
		switch {
		case in.got > in.most():
			return n, false, in.tooLarge()
		case err == io.EOF: //nolint:errorlint // readers return it bare
			return n, true, in.end()
		case err != nil:
			return n, false, fmt.Errorf("%w: %w", ErrSource, err)
		case m > 0:
			idle = 0
		default:
			if idle++; idle == emptyReads {
				return n, false, fmt.Errorf("%w: %w", ErrSource, io.ErrNoProgress)
			}
		}
	}
	return n, false, nil
}

func (in *intake) most() int64 {
	if in.size >= 0 {
		return min(in.size, in.limit)
	}
	return in.limit
}

func (in *intake) tooLarge() error {
	if in.size >= 0 && in.size <= in.limit {
		return fmt.Errorf("%w: more than the %d announced", ErrTooLarge, in.size)
	}
	return fmt.Errorf("%w: more than %d", ErrTooLarge, in.limit)
}

func (in *intake) end() error {
	if in.got < in.size {
		return fmt.Errorf("%w: %d of %d announced", ErrShort, in.got, in.size)
	}
	return nil
}
