package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// stallTimeout is the default of Options.StallTimeout.
const stallTimeout = time.Minute

// maxWrite is how much is written under one deadline, so that a client on a slow
// line makes progress, too.
const maxWrite = 64 << 10

// stallWriter gives up on a request that makes no progress: a client that neither
// sends nor receives a byte for a while, or a disk that does not answer. Whole
// requests have no limit: a large blob over a slow line needs its time.
type stallWriter struct {
	http.ResponseWriter
	rc      *http.ResponseController
	timeout time.Duration
	timer   *time.Timer // ends the request's context
	cancel  context.CancelFunc
	until   time.Time // the deadline of writes
	in, out int64     // bytes of the bodies that were read and written
}

// watchStalls returns the writer, and the request with a context that ends when it
// stalls. Call stop at the end.
func watchStalls(w http.ResponseWriter, r *http.Request, timeout time.Duration) (*stallWriter, *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	s := &stallWriter{ResponseWriter: w, rc: http.NewResponseController(w), timeout: timeout, cancel: cancel}
	s.timer = time.AfterFunc(timeout, cancel)
	if r.ContentLength != 0 {
		// Also for a body that no handler reads: net/http reads some of it to keep
		// the connection.
		_ = s.rc.SetReadDeadline(time.Now().Add(timeout))
	}
	if r.ProtoMajor > 1 {
		// HTTP/2 counts the server's WriteTimeout from the request, not from the
		// answer, which an upload may delay for long.
		_ = s.rc.SetWriteDeadline(time.Time{})
	}
	return s, r.WithContext(ctx)
}

func (s *stallWriter) Write(b []byte) (n int, err error) {
	for {
		s.extend(&s.until, s.rc.SetWriteDeadline)
		m, err := s.ResponseWriter.Write(b[n:min(n+maxWrite, len(b))])
		n += m
		s.out += int64(m)
		if err != nil || n == len(b) {
			return n, err
		}
	}
}

func (s *stallWriter) WriteHeader(status int) {
	s.extend(&s.until, s.rc.SetWriteDeadline)
	s.ResponseWriter.WriteHeader(status)
}

// extend moves a deadline when half of it has passed: moving it for every write
// costs more than the write.
func (s *stallWriter) extend(until *time.Time, set func(time.Time) error) {
	now := time.Now()
	if until.Sub(now) < s.timeout/2 {
		*until = now.Add(s.timeout)
		_ = set(*until)
		s.timer.Reset(s.timeout)
	}
}

// stop keeps the deadline of writes: net/http has yet to flush its buffer, and
// lifts the deadline then.
func (s *stallWriter) stop() {
	s.timer.Stop()
	s.cancel()
}

func (s *stallWriter) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// stallReader is the body of such a request.
type stallReader struct {
	io.Reader
	writer *stallWriter
	until  time.Time
}

// body returns the body of the request, to be read to its end. A part of a batch
// has none of its own.
func (c *call) body() io.Reader {
	if s, ok := c.w.(*stallWriter); ok {
		return &stallReader{Reader: c.r.Body, writer: s}
	}
	return c.r.Body
}

func (r *stallReader) Read(b []byte) (int, error) {
	r.writer.extend(&r.until, r.writer.rc.SetReadDeadline)
	n, err := r.Reader.Read(b)
	r.writer.in += int64(n)
	if errors.Is(err, io.EOF) { // a client that has sent all may be silent
		_ = r.writer.rc.SetReadDeadline(time.Time{})
	}
	return n, err
}
