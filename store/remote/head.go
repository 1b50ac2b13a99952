package remote

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
)

var (
	headEnd = []byte("\r\n\r\n")
	lineEnd = []byte("\r\n")

	contentLength  = []byte("Content-Length")
	decisiveFields = [][]byte{[]byte("Connection"), []byte("Transfer-Encoding"), []byte("Trailer"), []byte("Upgrade")}
)

// quickHead reads the head of an answer as our own server writes it, which most
// are: it is all here, has a length, and does not end the connection. Whatever
// is different in any way it leaves unread, for net/http to read with care.
//
// It is worth its lines: a client and a server that share a machine with the
// work share its processors, too.
func quickHead(in *bufio.Reader) *answer {
	here, _ := in.Peek(in.Buffered())
	end := bytes.Index(here, headEnd)
	if end < 0 {
		return nil
	}
	first, rest, _ := bytes.Cut(here[:end+len(lineEnd)], lineEnd)
	a := &answer{StatusCode: quickStatus(first), ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1}
	if a.StatusCode == 0 || !quickFields(a, rest) || a.ContentLength < 0 {
		return nil
	}
	_, _ = in.Discard(end + len(headEnd)) // it is all here
	a.Body = io.NopCloser(&sized{in, a.ContentLength})
	return a
}

// quickStatus returns the status of a line such as "HTTP/1.1 200 OK", or 0.
func quickStatus(line []byte) int {
	if len(line) < 13 || string(line[:9]) != "HTTP/1.1 " || line[12] != ' ' || !isPrintable(line) {
		return 0
	}
	status := 0
	for _, digit := range line[9:12] {
		if digit < '0' || digit > '9' {
			return 0
		}
		status = 10*status + int(digit-'0')
	}
	if status < 200 || status > 599 || status == http.StatusNoContent || status == http.StatusNotModified {
		return 0
	}
	return status
}

// quickFields reads the fields of the head. Of a success only the length
// matters.
func quickFields(a *answer, fields []byte) bool {
	for len(fields) > 0 {
		var line []byte
		line, fields, _ = bytes.Cut(fields, lineEnd)
		key, value, ok := bytes.Cut(line, []byte(":"))
		if !ok || !isName(key) || !isPrintable(value) || decisive(key) {
			return false
		}
		value = bytes.Trim(value, " ")
		switch {
		case bytes.EqualFold(key, contentLength):
			if a.ContentLength >= 0 {
				return false
			}
			a.ContentLength = quickLength(value)
		case a.StatusCode >= 300:
			if a.Header == nil {
				a.Header = http.Header{}
			}
			a.Header.Add(string(key), string(value))
		}
	}
	return true
}

// decisive reports whether a field changes what the rest means.
func decisive(key []byte) bool {
	for _, d := range decisiveFields {
		if bytes.EqualFold(key, d) {
			return true
		}
	}
	return false
}

func isName(key []byte) bool {
	for _, c := range key {
		if c != '-' && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return len(key) > 0
}

func isPrintable(text []byte) bool {
	for _, c := range text {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}

// quickLength returns a length, or -1.
func quickLength(digits []byte) int64 {
	if len(digits) == 0 || len(digits) > 15 {
		return -1
	}
	n := int64(0)
	for _, d := range digits {
		if d < '0' || d > '9' {
			return -1
		}
		n = 10*n + int64(d-'0')
	}
	return n
}

// sized reads a body of known length.
type sized struct {
	in   io.Reader
	left int64
}

func (s *sized) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	n, err := s.in.Read(p[:min(int64(len(p)), s.left)])
	s.left -= int64(n)
	switch {
	case s.left == 0:
		return n, io.EOF
	case err == io.EOF:
		return n, io.ErrUnexpectedEOF
	}
	return n, err
}
