package content

import (
	"fmt"
	"io"
)

// source reads what a sender sends and refuses more or fewer bytes than it
// announced.
type source struct {
	r     io.Reader
	size  int64 // announced, or -1
	limit int64
	got   int64
}

// emptyReads is how often in a row a reader may return nothing.
const emptyReads = 100

// fill reads until buf is full or the sender is done. It returns ErrTooLarge as
// soon as there is a byte too many.
func (s *source) fill(buf []byte) (n int, done bool, err error) {
	idle := 0
	for n < len(buf) {
		m, err := s.r.Read(buf[n:])
		n += m
		s.got += int64(m)
		switch {
		case s.got > s.most():
			return n, false, s.tooLarge()
		case err == io.EOF: //nolint:errorlint // readers return it bare
			return n, true, s.end()
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

func (s *source) most() int64 {
	if s.size >= 0 {
		return min(s.size, s.limit)
	}
	return s.limit
}

func (s *source) tooLarge() error {
	if s.size >= 0 && s.size <= s.limit {
		return fmt.Errorf("%w: more than the %d announced", ErrTooLarge, s.size)
	}
	return fmt.Errorf("%w: more than %d", ErrTooLarge, s.limit)
}

func (s *source) end() error {
	if s.got < s.size {
		return fmt.Errorf("%w: %d of %d announced", ErrShort, s.got, s.size)
	}
	return nil
}
