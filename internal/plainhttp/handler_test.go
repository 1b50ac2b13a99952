package plainhttp

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path"
	"strconv"
	"strings"
)

// seen is what a handler saw of a request.
type seen struct {
	Method, URI, Path, Proto, Host string
	Header                         http.Header
	Length                         int64
	Encoding                       []string
	Close                          bool
	Body, BodyErr                  string
	Trailer                        http.Header
	Notes                          []string
}

func newSeen(r *http.Request) *seen {
	return &seen{
		Method: r.Method, URI: r.RequestURI, Path: r.URL.Path, Proto: r.Proto, Host: r.Host,
		Header: r.Header.Clone(), Length: r.ContentLength, Encoding: r.TransferEncoding, Close: r.Close,
	}
}

func (s *seen) note(format string, args ...any) {
	s.Notes = append(s.Notes, fmt.Sprintf(format, args...))
}

// readAll reads the body, and notes how it ended.
func (s *seen) readAll(r *http.Request) {
	body, err := io.ReadAll(r.Body)
	s.Body, s.BodyErr, s.Trailer = string(body), errorText(err), maps.Clone(r.Trailer)
}

func (s *seen) write(w http.ResponseWriter, text string) {
	n, err := io.WriteString(w, text)
	s.note("write = %d, %s", n, errorText(err))
}

func errorText(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, io.ErrUnexpectedEOF):
		return io.ErrUnexpectedEOF.Error()
	default:
		return err.Error()
	}
}

// handle answers as the last part of the path says. Every answer names its
// method, so that a parser of answers knows which have no body.
func (s *seen) handle(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Method", r.Method)
	h.Set("Content-Type", "text/test")
	do, ok := manners[path.Base(r.URL.Path)]
	if !ok {
		do = answerEcho
	}
	do(s, w, r)
}

var manners = map[string]func(*seen, http.ResponseWriter, *http.Request){
	"after":     func(s *seen, w http.ResponseWriter, _ *http.Request) { s.give(w, 200, "after") },
	"echo":      answerEcho,
	"ignore":    func(s *seen, w http.ResponseWriter, _ *http.Request) { s.give(w, 200, "ignored") },
	"part":      answerPart,
	"exact":     answerExact,
	"closebody": func(s *seen, w http.ResponseWriter, r *http.Request) { r.Body.Close(); s.give(w, 200, "closed") },
	"204":       func(s *seen, w http.ResponseWriter, _ *http.Request) { s.give(w, 204, "not allowed") },
	"304":       func(s *seen, w http.ResponseWriter, _ *http.Request) { s.give(w, 304, "not allowed") },
	"404":       func(s *seen, w http.ResponseWriter, _ *http.Request) { s.give(w, 404, "not here") },
	"299":       func(s *seen, w http.ResponseWriter, _ *http.Request) { s.give(w, 299, "odd") },
	"99":        func(_ *seen, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(99) },
	"short":     func(s *seen, w http.ResponseWriter, _ *http.Request) { s.announce(w, 10, "four") },
	"long":      func(s *seen, w http.ResponseWriter, _ *http.Request) { s.announce(w, 4, "more than four") },
	"overrun":   func(s *seen, w http.ResponseWriter, _ *http.Request) { s.announce(w, 4, "four", "and more") },
	"big":       func(s *seen, w http.ResponseWriter, _ *http.Request) { s.give(w, 200, strings.Repeat("big ", 20000)) },
	"panic":     func(*seen, http.ResponseWriter, *http.Request) { panic("on purpose") },
	"abort":     func(*seen, http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	"fall":      answerFall,
	"flush":     answerFlush,
	"flusher":   answerFlusher,
	"lines":     answerLines,
	"names":     answerNames,
	"close":     answerClose,
	"keep":      answerKeep,
	"nothing":   func(*seen, http.ResponseWriter, *http.Request) {},
	"twice":     answerTwice,
	"late":      answerLate,
	"coding":    answerCoding,
	"untyped":   answerUntyped,
	"bare":      func(_ *seen, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) },
	"stream":    func(s *seen, w http.ResponseWriter, _ *http.Request) { s.write(w, "streamed") },
	"badlength": answerBadLength,
	"dateless":  answerDateless,
	"after-all": answerHeaderLate,
}

// give answers with a body of known length.
func (s *seen) give(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	s.write(w, text)
}

// announce announces a length and writes what it likes.
func (s *seen) announce(w http.ResponseWriter, length int, texts ...string) {
	w.Header().Set("Content-Length", strconv.Itoa(length))
	for _, text := range texts {
		s.write(w, text)
	}
}

func answerEcho(s *seen, w http.ResponseWriter, r *http.Request) {
	s.readAll(r)
	s.give(w, 200, s.Body)
}

func answerPart(s *seen, w http.ResponseWriter, r *http.Request) {
	start := make([]byte, 3)
	n, err := io.ReadFull(r.Body, start)
	s.Body, s.BodyErr = string(start[:n]), errorText(err)
	s.give(w, 200, "part")
}

// answerExact reads the body, but not the end after it.
func answerExact(s *seen, w http.ResponseWriter, r *http.Request) {
	all := make([]byte, max(0, r.ContentLength))
	_, err := io.ReadFull(r.Body, all)
	s.note("%d bytes, %s", len(all), errorText(err))
	s.give(w, 200, "exact")
}

func answerFall(s *seen, w http.ResponseWriter, _ *http.Request) {
	s.announce(w, 10, "half ")
	_ = http.NewResponseController(w).Flush()
	panic("half way")
}

func answerFlush(s *seen, w http.ResponseWriter, _ *http.Request) {
	s.announce(w, 9, "first")
	s.note("flush: %s", errorText(http.NewResponseController(w).Flush()))
	s.write(w, "last")
}

func answerFlusher(s *seen, w http.ResponseWriter, _ *http.Request) {
	f, ok := w.(http.Flusher)
	s.note("a flusher: %v", ok)
	w.Header().Set("Content-Length", "5")
	if ok {
		f.Flush()
	}
	s.write(w, "flush")
}

func answerLines(s *seen, w http.ResponseWriter, _ *http.Request) {
	w.Header()["X-Lines"] = []string{"a\r\nX-Forged: 1", "b\nX-Forged: 2", "c\rX-Forged: 3", " spaces\t", "tail\r\n\r\nHTTP/1.1 200"}
	s.give(w, 200, "lines")
}

func answerNames(s *seen, w http.ResponseWriter, _ *http.Request) {
	for _, name := range []string{"", "With Space", "X:Y", "X-Forged: 1\r\nX-More", "Ümlaut", "x-lower"} {
		w.Header()[name] = []string{"value"}
	}
	s.give(w, 200, "names")
}

func answerClose(s *seen, w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Connection", "close")
	s.give(w, 200, "close")
}

func answerKeep(s *seen, w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Connection", "keep-alive")
	s.give(w, 200, "keep")
}

func answerTwice(s *seen, w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "5")
	w.WriteHeader(201)
	w.WriteHeader(500)
	s.write(w, "twice")
}

// answerLate reads the body when the answer has begun.
func answerLate(s *seen, w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Length", "4")
	w.WriteHeader(200)
	_ = http.NewResponseController(w).Flush()
	s.readAll(r)
	s.write(w, "late")
}

func answerCoding(s *seen, w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Transfer-Encoding", "chunked")
	s.give(w, 200, "coding")
}

func answerUntyped(s *seen, w http.ResponseWriter, _ *http.Request) {
	w.Header().Del("Content-Type")
	s.give(w, 200, "<html>")
}

func answerBadLength(s *seen, w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "five")
	s.write(w, "badly")
}

func answerDateless(s *seen, w http.ResponseWriter, _ *http.Request) {
	w.Header()["Date"] = nil
	s.give(w, 200, "dateless")
}

// answerHeaderLate changes headers when they are on their way.
func answerHeaderLate(s *seen, w http.ResponseWriter, _ *http.Request) {
	s.announce(w, 4, "late")
	w.Header().Set("X-Late", "1")
	w.Header().Set("Content-Type", "text/late")
}
