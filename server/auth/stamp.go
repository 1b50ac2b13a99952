package auth

import (
	"os"
	"time"
)

// stamp tells whether a file is still the one that was read.
type stamp struct {
	path string
	info os.FileInfo // nil: never seen
	read time.Time
}

// settle is how old a file must be for its times to be trusted: two writes
// within one tick of the file system's clock look the same.
const settle = 2 * time.Second

// changed reports whether the file must be read again, and remembers how it
// looked. It is called before reading, so that what is written meanwhile shows
// the next time.
func (s *stamp) changed() bool {
	old, read := s.info, s.read
	info, err := os.Stat(s.path)
	if err != nil {
		s.info = nil
		return true
	}
	s.info, s.read = info, time.Now()
	return old == nil || !os.SameFile(old, info) || old.Size() != info.Size() ||
		old.Mode() != info.Mode() || !old.ModTime().Equal(info.ModTime()) ||
		info.ModTime().After(read.Add(-settle))
}
