package remote

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxLine is the longest line of a stream that is read. The longest record is
// far shorter.
const maxLine = 1 << 20

var errLongLine = errors.New("a line of the stream is too long")

// event is one Server-Sent Event.
type event struct {
	name string
	data []byte // valid until the next event is read
	id   string // of this event, else of the last that had one
}

// events reads a stream of Server-Sent Events as the HTML standard says: lines
// that end in LF, CR or both, fields in any order, comments between them, and
// an empty line at the end of each event. An event that breaks off is dropped.
type events struct {
	in      *bufio.Reader
	line    []byte
	data    []byte
	id      string
	skip    bool // the next LF belongs to the CR before it
	started bool
	alive   func() // called for every line
}

func newEvents(r io.Reader, alive func()) *events {
	return &events{in: bufio.NewReader(r), alive: alive}
}

// next returns the next event that has data.
func (s *events) next() (event, error) {
	var name string
	s.data = s.data[:0]
	for {
		if err := s.readLine(); err != nil {
			return event{}, err
		}
		if len(s.line) == 0 {
			if len(s.data) > 0 {
				return event{name: name, data: s.data[:len(s.data)-1], id: s.id}, nil
			}
			name = ""
			continue
		}
		switch field, value := s.field(); field {
		case "event":
			name = string(value)
		case "data":
			if len(s.data)+len(value) > maxLine {
				return event{}, errLongLine
			}
			s.data = append(append(s.data, value...), '\n')
		case "id":
			if !bytes.Contains(value, []byte{0}) {
				s.id = string(value)
			}
		}
	}
}

// field splits the line. A comment is a field without a name.
func (s *events) field() (name string, value []byte) {
	key, value, _ := bytes.Cut(s.line, []byte(":"))
	return string(key), bytes.TrimPrefix(value, []byte(" "))
}

// readLine reads one line, without its end.
func (s *events) readLine() error {
	s.line = s.line[:0]
	for {
		b, err := s.in.ReadByte()
		if err != nil {
			return err
		}
		if b == '\n' && s.skip {
			s.skip = false
			continue
		}
		s.skip = b == '\r'
		if b == '\n' || b == '\r' {
			s.ended()
			return nil
		}
		if len(s.line) == maxLine {
			return errLongLine
		}
		s.line = append(s.line, b)
	}
}

func (s *events) ended() {
	if !s.started {
		s.started = true
		s.line = bytes.TrimPrefix(s.line, []byte("\xef\xbb\xbf"))
	}
	if s.alive != nil {
		s.alive()
	}
}
